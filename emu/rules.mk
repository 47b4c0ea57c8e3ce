# SPDX-License-Identifier: MIT
# The files from which peerpin-emu makes its tree: module sources, scripts, and programs built by this Makefile.
EMU_SOURCES := $(addprefix emu/,include common kmod tegra peer_mem rdma judge/kmod layout peerpin-emu) kmod \
	$(addprefix emu/vm/,run cluster node adapter mkinitramfs kernel topology installed.sh machine.sh machine_arm64.sh splats.sh verdict.sh version.sh) \
	$(addprefix scripts/,apt.sh build-modules cache.sh foreign.sh kernel newer.sh own-kernel.sh progress.sh soft-roce usage.sh)
EMU_PROGRAMS := bin/demo $(addprefix emu/,libcuda.so.1 libcuda.so libnvidia-ml.so.1 libemurdma.so \
	libcudart.so libcudart.so.11.0 libcudart.so.12 libcudart.so.13) judge/guest judge/shim.so \
	$(addprefix vm/,init watch wire)

# An internal target; the user types `make install ONLY=emu`.
install-emu: PREFIX ?= /usr/local
install-emu: to = $(if $(word 2,$(DESTDIR)$(PREFIX)),$(error DESTDIR and PREFIX cannot have a blank))$(abspath $(DESTDIR)$(PREFIX))
install-emu: $(EMU_PROGRAMS:%=$(B)/%)
	umask 022 && mkdir -p $(to)/bin $(to)/lib/peerpin/build $(to)/share/man/man1
	cp -r --parents $(EMU_SOURCES) $(to)/lib/peerpin
	cd $(B) && cp -P --parents $(EMU_PROGRAMS) $(to)/lib/peerpin/build
	ln -sf ../lib/peerpin/emu/peerpin-emu $(to)/bin
	chmod -R u=rwX,go=rX $(to)/lib/peerpin
	install -m 644 man/peerpin-emu.1 $(to)/share/man/man1

.PHONY: install-emu

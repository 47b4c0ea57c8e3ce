# SPDX-License-Identifier: MIT
# `make install` builds only the files that it installs. packaging/install has the list of
# these files, also for the Debian packages of packaging/deb. ONLY=emu installs only the
# emulator.
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
export PREFIX LIBDIR DESTDIR B

only := $(if $(filter command,$(origin ONLY)),$(ONLY))
ifneq ($(filter-out emu,$(only)),)
$(error there is no ONLY=$(only); there is ONLY=emu)
endif

INSTALL_NEEDS := $(addprefix $(B)/,bin/peerpin lib/libpeerpin.a lib/libpeerpin.so.1 lib/libpeerpin-hook.so.1 \
	lib/libpeerpin-verbs.so.1 lib/libpeerpin-fi.so.1 lib/libpeerpin-ucm.so.1 lib/libgdrapi.so.2)

install: $(if $(only),,$(INSTALL_NEEDS)) install-emu
	$(if $(only),,@packaging/install)

uninstall:
	@packaging/install uninstall

deb:
	@packaging/deb

.PHONY: install uninstall deb

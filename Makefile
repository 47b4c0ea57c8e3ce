# SPDX-License-Identifier: MIT
#: make          everything: libraries, tool, modules (needs what `make deps` installs)
#: make deps     install the Debian packages that are missing (root or sudo)
#: make demo     deps, all, then the demonstration in the virtual machine
#: make check    deps, all, then every test
#: make check-debug  deps, all, then on a kernel that finds mistakes, which is built once (half an hour): what needs one
#:               with PCI_P2PDMA, and the bridges
#: make check-model  deps, then the models of how memory is taken away, and of the cache, in every order: doc/model
#: make fuzz     look for machines that doctor and topo crash on, for FUZZ_SECONDS (600): test/fuzz
#: make bench    deps, all, a copy beside the bare engine, pins beside the vendor's, look-ups, revocations, hook, cache,
#:               copies by libgdrapi
#: make h200     build/h200: what bench/h200.sh runs on a machine with a real GPU
#: make modules  the kernel modules only
#: make arm64    build/arm64: what runs in an arm64 machine, for which scripts/deps 6.1-arm64 is needed: doc/tegra.md
#: make layout   the emulated driver where other drivers' Makefiles look for NVIDIA's: doc/emulator.md
#: make clean    remove build/, where everything that is made goes
#:
#: V=1           show the commands of the build
#: KERNEL=6.12   another Debian kernel than 6.1 (7: the newest 7.x), for the modules and the machine
#: DESTDIR=DIR   where `make layout` leaves usr/src/nvidia-VERSION, else build/RELEASE/layout
#: EMUGPU_GPL_ONLY=1  the emulated driver exports to GPL modules only, as NVIDIA's open one does
#: emu/vm/run    runs anything in the virtual machine: emu/vm/run --help

# what is built is named by what fails; V=1 shows every command
$(if $(V),,.SILENT:)

KERNEL ?= 6.1
B := build

CFLAGS ?= -O2 -g
override CFLAGS += -std=gnu11 -Wall -Wextra -Werror -Wstrict-prototypes -Wmissing-prototypes \
	-Wshadow -D_GNU_SOURCE -Ikmod/uapi

USER_TARGETS :=

all: user modules

include $(wildcard */rules.mk */*/rules.mk)

user: $(USER_TARGETS)

modules:
	+@scripts/build-modules $(KERNEL)

deps:
	@scripts/deps $(KERNEL)

# One after the other also under -j: what is built depends on what is installed.
demo: deps
	+@$(MAKE) --no-print-directory all
	@emu/vm/run --kernel $(KERNEL) -- $(B)/bin/demo

check: deps
	@scripts/deps 6.1-arm64
	+@$(MAKE) --no-print-directory all
	@KERNEL=$(KERNEL) test/run

# Debian 12's own kernels have no PCI_P2PDMA, so that in `make check` storage is bounced.
check-debug:
	@scripts/deps debug
	+@$(MAKE) --no-print-directory user
	+@scripts/build-modules debug
	@KERNEL=debug test/run storage storage_flight storage_switch storage_no_way storage_driver storage_tool storage_unbind \
		ibpeer ibpeer_alloc ibpeer_tegra ibpeer_tegra_order ibpeer_bounce ibpeer_example gdrapi tegra_pin verbs_example

bench: deps
	+@$(MAKE) --no-print-directory all
	@modules=$(B)/$$(scripts/kernel $(KERNEL))/test && \
	emu/vm/run --kernel $(KERNEL) --insmod $$modules/peer_check.ko -- bench/engine $$modules && \
	emu/vm/run --kernel $(KERNEL) --mem 2048 --insmod $$modules/pin_bare.ko --insmod $$modules/peer_bench.ko \
		--insmod $$modules/null_provider.ko -- test/vm/each $(B)/bin/bench pin lookup revoke parallel gdrapi
	@$(B)/bin/bench/hook
	@$(B)/bin/bench/cache

clean:
	rm -rf $(B)

help:
	@sed -n 's/^#: \{0,1\}//p' Makefile

.PHONY: all user modules deps demo check check-debug bench clean help
.DELETE_ON_ERROR:

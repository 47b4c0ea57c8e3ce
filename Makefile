# SPDX-License-Identifier: MIT
#: make all          libraries, programs and modules, the default; scripts/deps installs the packages that this needs
#: make demo         scripts/deps, all, then the demonstration in the virtual machine
#: make check        scripts/deps, all, then the tests: ten minutes on two processors
#: make check-full   as check, all tests, in machines without and with an IOMMU: three quarters of an hour
#: make check-debug  the tests in machines, made-up calls and soak on a kernel with KASAN and lockdep: hours
#:                   KERNEL=kcsan: the tests in machines, with KCSAN; LINES="pin core": those lines of the suite only
#: make check-all    every check, on all kernels, as root: many hours
#: make bench        measure what the project claims: doc/bench.md; PLOT=1: draw figures; PUBLISH=1: put them into that page
#: make modules      the kernel modules only; EMUGPU_GPL_ONLY=1: the emulated driver exports to GPL modules only
#: make install      install all; PREFIX=/usr/local LIBDIR= DESTDIR=: doc/install.md; ONLY=emu: the emulator alone
#: make uninstall    remove what install has installed
#: make deb          Debian packages, in build/deb
#: make lint         shellcheck, cppcheck, sparse, licences
#: make format       apply .clang-format to the changed lines of C, or to FILES
#: make clean        remove build/; kernels stay in ~/.cache/peerpin/kernels: doc/testing.md
#: make arm64        programs for the arm64 machine, in build/arm64: doc/tegra.md
#:
#: KERNEL=6.12       another Debian kernel than 6.1 (7: the newest 7.x), for modules and machines
#: V=1               print the commands of the build
#:
#: doc/testing.md lists the scripts that a person types; each prints its usage with --help. emu/vm/run --help: the virtual machine

# what is built is named by what fails; V=1 shows every command
$(if $(V),,.SILENT:)

KERNEL ?= 6.1
B := build

ifneq ($(words $(CURDIR)),1)
$(error a kernel's modules cannot be built in '$(CURDIR)'; move this to a directory without blanks in its name)
endif

# goals side by side would make the same files
ifneq ($(word 2,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

# which a terminal may have in the environment, too, as its height
lines := $(if $(filter command,$(origin LINES)),$(LINES))

# a newer compiler warns of more, and is a user's
ifeq ($(origin WERROR),undefined)
WERROR := $(if $(filter 12,$(shell $(CC) -dumpversion 2>/dev/null)),-Werror)
endif
CFLAGS ?= -O2 -g
override CFLAGS += -std=gnu11 -Wall -Wextra $(WERROR) -Wstrict-prototypes -Wmissing-prototypes \
	-Wshadow -D_GNU_SOURCE -I. -Ikmod/uapi

USER_TARGETS :=
# on which make check-all runs make check-full besides
OTHER_KERNELS := 6.12 7
# of make check-debug, whatever other kernel KERNEL names
own_kernel := $(or $(filter kcsan,$(KERNEL)),debug)

all: user modules

include $(wildcard */rules.mk */*/rules.mk)

# an internal goal: all but the modules
user: $(USER_TARGETS)

# A line with "+" runs under make -n, too, where Kbuild would build nothing and be
# taken to have built everything.
modules:
	+@$(if $(findstring n,$(firstword -$(MAKEFLAGS))),: )scripts/build-modules $(KERNEL)

# One after the other also under -j: what is built depends on what is installed.
demo:
	@scripts/deps $(KERNEL)
	+@$(MAKE) --no-print-directory all
	@emu/vm/run --kernel $(KERNEL) -- $(B)/bin/demo

check:
	@scripts/deps $(KERNEL)
	+@$(MAKE) --no-print-directory all
	@KERNEL=$(KERNEL) test/run

check-full:
	@scripts/deps $(KERNEL)
	@scripts/deps 6.1-arm64
	+@$(MAKE) --no-print-directory all
	@KERNEL=$(KERNEL) test/run --full

# Debian 12's own kernels have no PCI_P2PDMA, so that in `make check` storage is bounced.
check-debug:
	@scripts/deps $(own_kernel)
	+@$(MAKE) --no-print-directory all KERNEL=$(own_kernel)
	@KERNEL=$(own_kernel) test/run --machines --full $(lines)
	$(if $(lines)$(filter kcsan,$(own_kernel)),,@KERNEL=debug FUZZ_SECONDS=$(or $(FUZZ_SECONDS),600) scripts/fuzz-calls)
	$(if $(lines)$(filter kcsan,$(own_kernel)),,@KERNEL=debug scripts/soak 300)

check-all:
	+@$(MAKE) --no-print-directory lint
	+@$(MAKE) --no-print-directory check-full
	@KERNEL=$(KERNEL) scripts/check-user
	@KERNEL=$(KERNEL) scripts/check-packages
	@KERNEL=$(KERNEL) scripts/check-mutants
	+@$(MAKE) --no-print-directory check-debug KERNEL=debug
	+@$(MAKE) --no-print-directory check-debug KERNEL=kcsan
	@KERNEL=debug scripts/coverage
	@KERNEL=$(KERNEL) scripts/fuzz
	@KERNEL=$(KERNEL) scripts/fuzz-calls
	@KERNEL=$(KERNEL) scripts/check-user torture
	@KERNEL=$(KERNEL) scripts/soak
	+@$(MAKE) --no-print-directory bench
	+@for kernel in $(OTHER_KERNELS); do $(MAKE) --no-print-directory check-full KERNEL=$$kernel || exit; done

bench:
	@scripts/deps $(KERNEL)
	+@$(MAKE) --no-print-directory all
	@KERNEL=$(KERNEL) bench/run $(if $(PLOT),--plot) $(if $(PUBLISH),--publish)

format:
	@scripts/format $(FILES)

lint:
	@scripts/lint $(KERNEL)

clean:
	rm -rf $(B)

help:
	@sed -n 's/^#: \{0,1\}//p' Makefile

.PHONY: all user modules demo check check-full check-debug check-all bench format lint clean help
.DELETE_ON_ERROR:

# SPDX-License-Identifier: MIT
#: make all          build libraries, programs and modules (default); scripts/deps installs the required packages
#: make demo         run scripts/deps, build all, then run the demonstration in the VM
#: make demo-cluster run scripts/deps, build all, then move GPU memory between two VMs by RDMA: doc/cluster.md
#: make check        run scripts/deps, build all, then run the tests: eleven minutes on two processors
#: make check-full   as check, with all tests, in VMs without and with an IOMMU: three quarters of an hour
#: make check-debug  run the VM tests, fuzzed calls and the soak test on the debug kernel (KASAN, lockdep): hours
#:                   KERNEL=kcsan: only the VM tests, with KCSAN; LINES="pin core": only these lines of the suite
#: make check-all    run every check on all kernels, as root: many hours
#: make bench        run the benchmarks: doc/bench.md; PLOT=1: draw figures; PUBLISH=1: write them into that page
#: make modules      build only the kernel modules; EMUGPU_GPL_ONLY=1: the emulated driver exports to GPL modules only
#: make install      install all; PREFIX=/usr/local LIBDIR= DESTDIR=: doc/install.md; ONLY=emu: only the emulator
#: make uninstall    remove all installed files
#: make deb          build Debian packages, in build/deb
#: make lint         run shellcheck, cppcheck and sparse, and check licences
#: make clean        remove build/; kernels stay in ~/.cache/peerpin/kernels: doc/testing.md
#: make arm64        build programs for the arm64 VM, in build/arm64: doc/tegra.md
#:
#: KERNEL=6.12       another Debian kernel than 6.1 (7: the newest 7.x), for modules and VMs
#: V=1               print the commands of the build
#:
#: doc/testing.md lists the scripts for users; each prints its usage with --help. emu/vm/run --help: options of the VM

# the commands of the build are silent; V=1 prints each command
$(if $(V),,.SILENT:)

KERNEL ?= 6.1
B := build

ifneq ($(words $(CURDIR)),1)
$(error kernel modules cannot be built in '$(CURDIR)'; move this tree to a path without blanks)
endif

# goals in parallel would build the same files twice
ifneq ($(word 2,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

# LINES counts only on the command line: in the environment, LINES is the terminal's height
lines := $(if $(filter command,$(origin LINES)),$(LINES))

# -Werror only for gcc 12: newer compilers have more warnings, and the build must not fail for users
ifeq ($(origin WERROR),undefined)
WERROR := $(if $(filter 12,$(shell $(CC) -dumpversion 2>/dev/null)),-Werror)
endif
CFLAGS ?= -O2 -g
override CFLAGS += -std=gnu11 -Wall -Wextra $(WERROR) -Wstrict-prototypes -Wmissing-prototypes \
	-Wshadow -D_GNU_SOURCE -I. -Ikmod/uapi

USER_TARGETS :=
# make check-all also runs make check-full on these kernels
OTHER_KERNELS := 6.12 7
# the kernel of make check-debug: kcsan or debug, for any KERNEL
own_kernel := $(or $(filter kcsan,$(KERNEL)),debug)

all: user modules

include $(wildcard */rules.mk */*/rules.mk)

# an internal target: all except the modules
user: $(USER_TARGETS)

# Because of "+", the recipe also runs under make -n. Under make -n Kbuild builds nothing, but
# the script would record that it has built everything. ":" prevents this.
modules:
	+@$(if $(findstring n,$(firstword -$(MAKEFLAGS))),: )scripts/build-modules $(KERNEL)

# On all processors, if the user gave no -j
build = $(MAKE) --no-print-directory $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc)) all

# In this order even with make -j: the build needs the packages that scripts/deps installs.
demo:
	@scripts/deps $(KERNEL)
	+@$(build)
	@emu/vm/run --kernel $(KERNEL) -- $(B)/bin/demo

# scripts/build-modules builds the RDMA adapter if its source is there. Without it, the tests skip the adapter's lines.
demo-cluster:
	@scripts/deps $(KERNEL)
	@scripts/soft-roce $(KERNEL)
	+@$(build)
	@emu/vm/cluster --kernel $(KERNEL) --smp 2 -- $(B)/bin/demo-cluster

check:
	@scripts/deps $(KERNEL)
	@scripts/soft-roce $(KERNEL) || true
	+@$(build)
	@KERNEL=$(KERNEL) test/run

# Some bugs show only under KASAN or kmemleak. The debug kernel is not built here: that takes half an hour.
check-full:
	@scripts/deps $(KERNEL)
	@scripts/deps 6.1-arm64
	@scripts/soft-roce $(KERNEL) || true
	@scripts/prometheus || true
	@scripts/nvidia $(KERNEL) || true
	+@$(build)
	@KERNEL=$(KERNEL) test/run --full
	+@! scripts/kernel --cached debug || $(MAKE) --no-print-directory check-debug LINES='core judge'

# Debian 12's own kernels lack PCI_P2PDMA, so only the tests of check-debug move storage data without a bounce buffer.
check-debug:
	@scripts/deps $(own_kernel)
	@scripts/soft-roce $(own_kernel) || true
	+@$(build) KERNEL=$(own_kernel)
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
	@scripts/soft-roce $(KERNEL) || true
	+@$(build)
	@KERNEL=$(KERNEL) bench/run $(if $(PLOT),--plot) $(if $(PUBLISH),--publish)

lint:
	@scripts/lint $(KERNEL)

clean:
	rm -rf $(B)

help:
	@sed -n 's/^#: \{0,1\}//p' Makefile

.PHONY: all user modules demo demo-cluster check check-full check-debug check-all bench lint clean help
.DELETE_ON_ERROR:

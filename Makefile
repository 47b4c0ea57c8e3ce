# SPDX-License-Identifier: MIT
#: make          everything: libraries, tool, modules (needs what `make deps` installs)
#: make deps     install the Debian packages that are missing (root or sudo)
#: make demo     deps, all, then the demonstration in the virtual machine
#: make check    deps, all, then the tests: ten minutes on two processors
#: make check-full  as check, with the tests that take minutes, each machine's test without and with an IOMMU
#: make check-debug  deps, all, then every machine's test on a kernel that finds mistakes (built once, in 30 min., for all
#:               clones), the n-th allocation of each call failed, calls made up for FUZZ_SECONDS (600), and five minutes
#:               of soak; LINES="pin core": some of it
#: make check-kcsan  all but the n-th allocations, on one that finds data races, which is built once, too
#: make check-all  everything: doc/testing.md says what that takes
#: make check-model  deps, then the models of how memory is taken away, and of the cache, in every order: doc/model
#: make fuzz     both of the next, one after the other
#: make fuzz-tool  look for machines, archives, command lines, reports and lists that the tool crashes on, for FUZZ_SECONDS
#:               (600) in all: test/fuzz
#: make fuzz-calls  look for calls, a million (CALLS), of all nodes by which the kernel comes to harm; SEED=: the same
#:               programs first: test/fuzz/calls
#: make check-user  deps, then all unit tests under AddressSanitizer, ThreadSanitizer and valgrind (an hour), or TOOL=threads:
#:               test/sanitize
#: make torture  deps, then the registration cache under ThreadSanitizer for TORTURE_SECONDS (600)
#: make soak     64 processes (SOAK_PROCESSES) for half an hour (SOAK_SECONDS), without and with an IOMMU, on GPUs and peers
#:               that come and go; SEED=: the same choices again: test/soak
#: make coverage deps, user, then which lines of the modules the machines' suite takes (hours); LINES="pin core": some of it
#: make bench    deps, all, then what the project claims, measured beside what it is to be compared with: doc/bench.md
#:               PLOT=1: figures too; PUBLISH=1: and into that page
#: make h200     build/h200: what bench/h200.sh runs on a machine with a real GPU
#: make modules  the kernel modules only
#: make arm64    build/arm64: what runs in an arm64 machine, for which scripts/deps 6.1-arm64 is needed: doc/tegra.md
#: make layout   the emulated driver where other drivers' Makefiles look for NVIDIA's: doc/emulator.md
#: make abi      all, then what was added to an interface goes on record: doc/abi.md
#: make install  programs, libraries, emulator, modules as source; PREFIX=/usr/local LIBDIR= DESTDIR=: doc/install.md
#: make uninstall  takes them away again
#: make deb      Debian packages of them, in build/deb
#: make check-mutants  deps, all, then how well `peerpin verify` judges drivers with a mistake each (hours): test/mutants
#: make check-packages  deb, then they are installed, used and purged in a bare Debian (root; some minutes)
#: make install-emu  the emulator alone, into DESTDIR and PREFIX (/usr/local): doc/emulator.md
#: make format   give changed lines of C, or FILES, the look of .clang-format
#: make lint     what reads the sources finds nothing: shellcheck, cppcheck, sparse, licences
#: make stats    lines, comments, how long functions are, room by room
#: make clean    remove build/, where everything is made but kernels: they stay for all clones in ~/.cache/peerpin/kernels,
#:               or $PEERPIN_CACHE/kernels; rm -rf removes them: doc/testing.md
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
	-Wshadow -D_GNU_SOURCE -Ikmod/uapi

USER_TARGETS :=
# what `make check-all` does
CHECKS := lint check-full check-user check-packages check-mutants check-debug check-kcsan coverage fuzz torture soak bench
OTHER_KERNELS := 6.12 7

all: user modules

include $(wildcard */rules.mk */*/rules.mk)

user: $(USER_TARGETS)

# A line with "+" runs under make -n, too, where Kbuild would build nothing and be
# taken to have built everything.
modules:
	+@$(if $(findstring n,$(firstword -$(MAKEFLAGS))),: )scripts/build-modules $(KERNEL)

deps:
	@scripts/deps $(KERNEL)

# One after the other also under -j: what is built depends on what is installed.
demo: deps
	+@$(MAKE) --no-print-directory all
	@emu/vm/run --kernel $(KERNEL) -- $(B)/bin/demo

check: deps
	+@$(MAKE) --no-print-directory all
	@KERNEL=$(KERNEL) test/run

check-full: deps
	@scripts/deps 6.1-arm64
	+@$(MAKE) --no-print-directory all
	@KERNEL=$(KERNEL) test/run --full

# Debian 12's own kernels have no PCI_P2PDMA, so that in `make check` storage is bounced.
check-debug check-kcsan: check-%:
	@scripts/deps $*
	+@$(MAKE) --no-print-directory user
	+@scripts/build-modules $*
	@KERNEL=$* test/run --machines --full $(lines)
	$(if $(lines)$(filter kcsan,$*),,@KERNEL=debug FUZZ_SECONDS=$(or $(FUZZ_SECONDS),600) scripts/fuzz-calls)
	$(if $(lines)$(filter kcsan,$*),,@KERNEL=debug scripts/soak 300)

check-all:
	+@for target in $(CHECKS); do $(MAKE) --no-print-directory $$target || exit; done
	+@for kernel in $(OTHER_KERNELS); do $(MAKE) --no-print-directory check-full KERNEL=$$kernel || exit; done

check-mutants: deps
	+@$(MAKE) --no-print-directory all
	@KERNEL=$(KERNEL) test/mutants/build
	@KERNEL=$(KERNEL) test/mutants/measure

coverage:
	@scripts/deps debug
	+@$(MAKE) --no-print-directory user
	@KERNEL=debug scripts/coverage $(lines)

bench: deps
	+@$(MAKE) --no-print-directory all
	@KERNEL=$(KERNEL) bench/run $(if $(PLOT),--plot) $(if $(PUBLISH),--publish)

format:
	@scripts/format $(FILES)

lint:
	@scripts/lint $(KERNEL)

stats:
	@scripts/stats

clean:
	rm -rf $(B)

help:
	@sed -n 's/^#: \{0,1\}//p' Makefile

.PHONY: all user modules deps demo check check-full check-debug check-kcsan check-all check-mutants coverage bench format lint stats clean help
.DELETE_ON_ERROR:

# SPDX-License-Identifier: MIT
# `make install` builds what it installs and nothing else; packaging/install has
# the list. Debian's packages are made of it too: packaging/deb.
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
export PREFIX LIBDIR DESTDIR B

INSTALL_NEEDS := $(addprefix $(B)/,bin/peerpin lib/libpeerpin.a lib/libpeerpin.so.1 lib/libpeerpin-hook.so.1 \
	lib/libpeerpin-verbs.so.1 lib/libgdrapi.so.2)

install: $(INSTALL_NEEDS) install-emu
	@packaging/install

uninstall:
	@packaging/install uninstall

deb:
	@packaging/deb

check-packages: deps
	+@$(MAKE) --no-print-directory deb
	+@$(MAKE) --no-print-directory all
	@test/packages/clean_root

.PHONY: install uninstall deb check-packages

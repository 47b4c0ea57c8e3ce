# SPDX-License-Identifier: MIT
# The emulator's module laid out as the sources of an installed driver are.
layout: modules
	build=$(B)/$$(scripts/kernel $(KERNEL)) && \
	emu/layout $$build/src/emu/kmod $(if $(DESTDIR),$(DESTDIR),$$build/layout)

.PHONY: layout

# SPDX-License-Identifier: MIT
# All unit tests under AddressSanitizer, ThreadSanitizer and valgrind, or one of them (TOOL=threads):
#	make check-user
# and the registration cache under ThreadSanitizer, for TORTURE_SECONDS:
#	make torture
TORTURE_SECONDS ?= 600

check-user: deps
	@scripts/check-user $(TOOL)

torture: deps
	@scripts/check-user torture $(TORTURE_SECONDS)

.PHONY: check-user torture

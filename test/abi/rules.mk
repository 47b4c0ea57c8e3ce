# SPDX-License-Identifier: MIT
abi: all
	@test/abi/record

.PHONY: abi

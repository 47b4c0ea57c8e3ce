# SPDX-License-Identifier: MIT
check-model: deps
	@scripts/check-model

.PHONY: check-model

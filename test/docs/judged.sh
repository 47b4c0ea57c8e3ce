# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Before a block of doc/drivers.md: of two minutes of scenarios the one that the
# page speaks of.
build/bin/peerpin() {
	command build/bin/peerpin "${@:1:7}" --only iommu/revoke-at-kernel-2 "${@:8}"
}

# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by emu/vm/run after machine.sh: overrides for an arm64 VM. The VM runs
# programs from build/arm64, with an arm64 busybox and C library. The VM also sees the
# host's programs, but cannot run them.

programs=arm64
qemu_program='qemu-system-aarch64'
path=/run/busybox
library_path=/usr/aarch64-linux-gnu/lib

board() {
	qemu=("$qemu_program" -machine "virt,gic-version=3,highmem=off${iommu:+,iommu=smmuv3}")
	append=console=ttyAMA0
}

# An old processor: newer processors have pointer authentication and other checks, which QEMU emulates slowly.
add_processor() {
	add -accel "tcg,thread=$threads" -cpu "cortex-a57$cpu" -smp "$smp"
}

add_iommu() {
	[ -z "$iommu" ] || append+=' iommu.passthrough=0 iommu.strict=1'
}

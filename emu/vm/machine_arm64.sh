# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by emu/vm/run after machine.sh: what differs in an arm64 machine. It
# runs programs that were compiled for it into build/arm64; busybox and the C
# library are arm64's too, and the host's own programs are only files there.

programs=arm64
qemu_program='qemu-system-aarch64'
path=/run/busybox
library_path=/usr/aarch64-linux-gnu/lib

board() {
	qemu=("$qemu_program" -machine "virt,gic-version=3,highmem=off${iommu:+,iommu=smmuv3}")
	append=console=ttyAMA0
}

# A processor of 2015: what newer ones check and sign is emulated instruction by instruction.
add_processor() {
	add -accel "tcg,thread=$threads" -cpu "cortex-a57$cpu" -smp "$smp"
}

add_iommu() {
	[ -z "$iommu" ] || append+=' iommu.passthrough=0 iommu.strict=1'
}

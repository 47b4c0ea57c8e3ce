# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by emu/vm/run and peerpin-emu in a tree that peerpin-emu made. It replaces
# messages of emu/vm/run, and builds missing modules.

self='peerpin-emu run' peerpin=peerpin to_install='apt-get install qemu-system-x86 busybox-static cpio kmod'
# libpeerpin is installed in this directory, which the dynamic loader may not search
library_path=$(realpath "$root/emu/../..")

check_kernel() {
	[[ $kernel != *-arm64 ]] ||
		die "$kernel: arm64 needs peerpin's source tree; see doc/tegra.md there"
}

# No check for newer sources: when the installed sources change, peerpin-emu deletes the built modules.
build_modules() {
	[ -e "$root/build/$release/modules" ] ||
		echo "peerpin-emu: building the modules for Linux $release, once" >&2
	[ "${adapters:-0}" -eq 0 ] || "$root/scripts/soft-roce" "$release" >&2
	env -u MAKELEVEL MAKEFLAGS="-j$(nproc)" "$root/scripts/build-modules" "$release" >/dev/null
}

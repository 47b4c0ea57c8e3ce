# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034,SC2154
# Sourced by emu/vm/run and peerpin-emu in a tree that peerpin-emu made: what is
# said differently there, and modules are built when somebody needs them.

self='peerpin-emu run' to_install='apt-get install qemu-system-x86 busybox-static cpio kmod'
# libpeerpin is installed beside, perhaps where the loader does not look
library_path=$(realpath "$root/emu/../..")

check_kernel() {
	[[ $kernel != *-arm64 ]] ||
		die "what runs in an arm64 machine is made in peerpin's source tree; see there doc/tegra.md"
}

# Sources change only with what is installed, and then peerpin-emu drops what was built.
build_modules() {
	[ -e "$root/build/$release/modules" ] ||
		echo "peerpin-emu: building the modules for Linux $release, once" >&2
	env -u MAKELEVEL MAKEFLAGS="-j$(nproc)" "$root/scripts/build-modules" "$release" >/dev/null
}

# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables of scripts/kernel
#
# Sourced by scripts/kernel: arm64 kernels of the installed Debian release, on an amd64
# host. apt gets separate package lists for arm64. The kernels are unpacked, not installed;
# the cross compiler and QEMU are installed.

foreign_conf() {
	cat <<-END
		Dir::State::lists "$foreign_dir/lists";
		Dir::Cache "$foreign_dir/cache";
		APT::Architectures { "amd64"; "$arch"; };
	END
}

foreign_update() {
	apt-get "${apt[@]}" -qq -o APT::Sandbox::User=root update >&2 && touch "$foreign_dir/updated"
}

are_lists_of_today() {
	[ -n "$(find "$foreign_dir/updated" -mtime -1 2>/dev/null)" ]
}

# Sets $apt so that apt sees both architectures. The package lists stay in the cache.
# Lists older than a day are fetched again: they may lack the newest kernel.
use_foreign() {
	foreign_dir=$kernels/.apt-$arch
	mkdir -p "$foreign_dir/lists/partial" "$foreign_dir/cache/archives/partial"
	{ foreign_conf; index_conf "$foreign_dir"; } >"$foreign_dir/apt.conf"
	apt=(-c "$foreign_dir/apt.conf")
	of=:$arch
	kernel_packages+=("${arm64_packages[@]}")
	are_lists_of_today || foreign_update || true
}

# Unpacks an arm64 busybox as the VM's shell: the host's busybox has the wrong architecture.
take_busybox() {
	mv "$tree/bin/busybox" "$work/kernel/busybox"
}

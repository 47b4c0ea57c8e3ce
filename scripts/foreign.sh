# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables of scripts/kernel
#
# Sourced by scripts/kernel: kernels of another architecture than this machine's,
# arm64, from the same distribution. apt has them in lists of its own, and nothing
# of them is installed; what compiles and runs them is.

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

# From here on apt knows both architectures. Its lists stay in the cache; older ones than of a
# day may not know the newest kernel.
use_foreign() {
	foreign_dir=$kernels/.apt-$arch
	mkdir -p "$foreign_dir/lists/partial" "$foreign_dir/cache/archives/partial"
	{ foreign_conf; index_conf "$foreign_dir"; } >"$foreign_dir/apt.conf"
	apt=(-c "$foreign_dir/apt.conf")
	of=:$arch
	kernel_packages+=("${arm64_packages[@]}")
	are_lists_of_today || foreign_update || true
}

# The machine's shell, since the host's own is of the other architecture.
take_busybox() {
	mv "$tree/bin/busybox" "$work/kernel/busybox"
}

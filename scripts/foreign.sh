# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables of scripts/kernel
#
# Sourced by scripts/kernel: kernels of another architecture than this machine's,
# arm64, from the same distribution. apt has them in lists of its own, and nothing
# of them is installed; what compiles and runs them is.

foreign_dir=build/kernels/$arch

foreign_conf() {
	cat <<-END
		Dir::State::lists "$PWD/$foreign_dir/lists";
		Dir::Cache "$PWD/$foreign_dir/cache";
		APT::Architectures { "amd64"; "$arch"; };
	END
}

foreign_update() {
	apt-get "${apt[@]}" -qq -o APT::Sandbox::User=root update >&2
}

# From here on apt knows both architectures.
use_foreign() {
	mkdir -p "$foreign_dir/lists/partial" "$foreign_dir/cache/archives/partial"
	foreign_conf >"$foreign_dir/apt.conf"
	apt=(-c "$PWD/$foreign_dir/apt.conf")
	of=:$arch
	kernel_packages+=("${arm64_packages[@]}")
}

# The machine's shell, since the host's own is of the other architecture.
take_busybox() {
	mv "$tree/bin/busybox" "$work/kernel/busybox"
}

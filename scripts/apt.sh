# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by the scripts that may have to install Debian packages.

die() {
	printf '%s: %s\n' "${self:?}" "$*" >&2
	exit 1
}

# The packages among the arguments that are not installed, one a line.
missing_packages() {
	comm -23 <(printf '%s\n' "$@" | sort -u) \
		<(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null |
			sed -n 's/^installed //p' | sort -u)
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo "$@"
	else
		die "must be root to run: $*
Run this again as root, or install sudo."
	fi
}

# The packages to unpack a kernel and to build its modules.
# shellcheck disable=SC2034
kernel_packages=(gcc make libelf-dev xz-utils zstd kmod util-linux)

# The packages that arm64 modules and an arm64 VM need in addition.
# shellcheck disable=SC2034
arm64_packages=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-system-arm)

# Prints the end of apt-get's output only if it fails.
apt_get() {
	local output

	output=$(as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get -qq -o DPkg::Lock::Timeout=600 "$@" 2>&1) && return
	tail -n 20 <<<"$output" >&2
	return 1
}

# If no package is missing, do not call apt: a second run must be silent, quick and
# possible without a network.
install_packages() {
	local missing

	mapfile -t missing < <(missing_packages "$@")
	[ ${#missing[@]} -eq 0 ] && return
	echo "$self: installing ${missing[*]}" >&2
	apt_get update || die "apt-get update failed; is the network up?"
	apt_get install -y --no-install-recommends "${missing[@]}" ||
		die "could not install: ${missing[*]}"
}

# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Sourced by scripts that may install Debian packages, in the root of the tree.
. scripts/progress.sh

die() {
	printf '%s: %s\n' "${self:?}" "$*" >&2
	exit 1
}

# Prints the arguments that are not installed packages, one a line.
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

# Packages that unpacking a kernel and building its modules need
# shellcheck disable=SC2034
kernel_packages=(gcc make libelf-dev xz-utils zstd kmod util-linux)

# Packages that arm64 modules and an arm64 VM need in addition
# shellcheck disable=SC2034
arm64_packages=(gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-system-arm)

apt_to() { # LOG ARG...
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=600 "${@:2}" >"$1" 2>&1 </dev/null
}

# Prints the end of apt-get's output only if it fails.
apt_get() {
	local log status=0

	log=$(mktemp)
	! shows_progress || as_root true	# sudo asks for the password before the line of progress
	progress "apt-get $1" "last_line $log" apt_to "$log" "$@" || status=$?
	[ "$status" -eq 0 ] || tail -n 20 "$log" >&2
	rm -f "$log"
	return "$status"
}

# Calls apt only if a package is missing: a second run must be silent and quick, and must
# work without a network.
install_packages() {
	local missing

	mapfile -t missing < <(missing_packages "$@")
	[ ${#missing[@]} -eq 0 ] && return
	echo "$self: installing ${missing[*]}" >&2
	apt_get update || die "apt-get update failed; is the network up?"
	apt_get install -y --no-install-recommends "${missing[@]}" ||
		die "could not install: ${missing[*]}"
}

# apt answers queries from an index of its package lists. If the host's apt is configured
# without this index, a query takes a second. So the cache keeps its own index.
index_conf() { # DIRECTORY
	cat <<-END
		Dir::Cache::pkgcache "$1/pkgcache.bin";
		Dir::Cache::srcpkgcache "$1/srcpkgcache.bin";
	END
}

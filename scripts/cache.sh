# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables of scripts/kernel
#
# Sourced by scripts/kernel and emu/peerpin-emu: the cache of kernels. All clones of
# a user and the installed emulator share the cache. Its directory "kernels" has an entry
# for each kernel:
#
#   kernels/NAME-HASH/       NAME: debug, kcsan, 6.1-amd64; HASH: of the recipe
#     recipe                 all inputs that the kernel depends on, as text
#     kernel/                build/RELEASE/kernel of a clone is a link to it
#     source/, objects/      of a kernel built from source: the build of modules needs both
#     complete               exists when the entry can be used; its mtime is the last use
#   kernels/.lock-LOCK       LOCK: debug, kcsan, or debian for all other kernels
#   kernels/.apt-*/          apt's package lists of other architectures and releases
#
# A kernel is built inside its entry, because its objects contain absolute paths.
# An entry without the file "complete" is never used.

# Prints the directory of the cache. Fails for a user without a home directory.
cache_dir() {
	if [ -n "${PEERPIN_CACHE:-}" ]; then
		echo "$PEERPIN_CACHE"
	elif [[ ${XDG_CACHE_HOME:-} = /* ]]; then
		echo "$XDG_CACHE_HOME/peerpin"
	elif [ -n "${HOME:-}" ]; then
		echo "$HOME/.cache/peerpin"
	elif [ "$(id -u)" -eq 0 ]; then
		echo /var/cache/peerpin
	else
		return 1
	fi
}

# Succeeds if the path has none of the characters that are special to make or Kbuild.
is_plain_path() { # PATH
	[[ $1 != *[[:space:]%:\$\#\'\"\\\`\&\;\|\<\>\(\)]* ]]
}

is_usable_cache() { # DIRECTORY
	is_plain_path "$1" && mkdir -p "$1/kernels" 2>/dev/null && [ -w "$1/kernels" ]
}

# Sets $kernels. Without a writable cache, the clone keeps its kernels in build/cache,
# which `make clean` removes.
open_cache() {
	local cache

	cache=$(cache_dir) || cache=$PWD/build/cache
	cache=$(realpath -m -- "$cache")
	if ! is_usable_cache "$cache"; then
		[ -z "${PEERPIN_CACHE:-}" ] || die "cannot keep kernels in $cache; set PEERPIN_CACHE to a writable directory with a plain name"
		cache=$PWD/build/cache
		mkdir -p "$cache/kernels"
	fi
	kernels=$cache/kernels
}

# Until this process ends, no other process builds or removes entries under LOCK.
lock_cache() { # LOCK
	exec 8>"$kernels/.lock-$1"
	flock -n 8 && return
	echo "$self: waiting for another process that fills $kernels" >&2
	flock 8
}

# Sets $entry to the directory of the entry. The directory may not exist yet.
choose_entry() { # NAME RECIPE
	entry=$kernels/$1-$(sha256sum <<<"$2" | cut -c 1-16)
}

is_complete() { # ENTRY
	[ -e "$1/complete" ]
}

# Creates the file "complete" last; before that, sync writes all other files to the disk.
complete_entry() { # NAME RECIPE
	printf '%s\n' "$2" >"$entry/recipe"
	sync -f "$entry"
	touch "$entry/complete"
	prune_entries "$1"
}

is_in_use() { # ENTRY
	[ -n "$(find "$1/complete" -mmin -1440 2>/dev/null)" ]
}

# Removes the other entries of this name that no clone has used within the last day.
# The caller holds the lock, so no process is building in these entries.
prune_entries() { # NAME
	local other

	for other in "$kernels/$1"-????????????????; do
		[ -d "$other" ] || continue
		[ "$other" != "$entry" ] || continue
		is_in_use "$other" && continue
		rm -f "$other/complete"
		rm -rf "$other"
	done
}

# Updates the mtime of "complete". build/RELEASE/kernel is a link to the entry's directory kernel/.
mark_used() { # RELEASE
	touch -c "build/$1/kernel/../complete" 2>/dev/null || true
}

# Links build/RELEASE/kernel to the entry. Removes modules that were built against another entry.
link_kernel() { # RELEASE
	touch -c "$entry/complete"
	[ "$(readlink "build/$1/kernel")" = "$entry/kernel" ] && return
	rm -rf "build/$1" "build/vm/initramfs-$1"*
	mkdir -p "build/$1"
	ln -s "$entry/kernel" "build/$1/kernel"
}

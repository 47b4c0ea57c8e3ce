# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables of scripts/kernel
#
# Sourced by scripts/kernel and emu/peerpin-emu. All clones of a user, and the
# installed emulator, share one cache. Its directory "kernels" holds an entry for
# each kernel:
#
#   kernels/NAME-HASH/       NAME: debug, kcsan, 6.1-amd64; HASH: of the recipe
#     recipe                 everything that the kernel depends on, as text
#     kernel/                what build/RELEASE/kernel of a clone links to
#     source/, objects/      of a kernel that is built here: modules are built against them
#     complete               exists when the entry can be used; its time is that of the last use
#   kernels/.lock-LOCK       LOCK: debug, kcsan, or debian for all others
#   kernels/.apt-*/          what apt knows of other architectures and releases
#
# An entry is made where it stays, because the objects of a kernel contain
# absolute paths. An entry without the file "complete" is never used.

# The directory of the cache. Fails for a user without a home directory.
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

# make and Kbuild take these characters in a path for their own.
is_plain_path() { # PATH
	[[ $1 != *[[:space:]%:\$\#\'\"\\\`\&\;\|\<\>\(\)]* ]]
}

is_usable_cache() { # DIRECTORY
	is_plain_path "$1" && mkdir -p "$1/kernels" 2>/dev/null && [ -w "$1/kernels" ]
}

# Leaves $kernels. A clone whose user has no usable cache keeps its own in build/,
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

# Until this process ends no other one makes or removes such entries.
lock_cache() { # LOCK
	exec 8>"$kernels/.lock-$1"
	flock -n 8 && return
	echo "$self: waiting for another process that fills $kernels" >&2
	flock 8
}

# Leaves $entry: its directory, whether it exists or not.
choose_entry() { # NAME RECIPE
	entry=$kernels/$1-$(sha256sum <<<"$2" | cut -c 1-16)
}

is_complete() { # ENTRY
	[ -e "$1/complete" ]
}

# The file "complete" comes last, and is not on the disk before all others are.
complete_entry() { # NAME RECIPE
	printf '%s\n' "$2" >"$entry/recipe"
	sync -f "$entry"
	touch "$entry/complete"
	prune_entries "$1"
}

is_in_use() { # ENTRY
	[ -n "$(find "$1/complete" -mmin -1440 2>/dev/null)" ]
}

# Remove the other entries of this name, unless a clone has used them within the
# last day. The caller holds the lock of the name, so nothing is being built in them.
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

# The entry that a clone uses is the directory above build/RELEASE/kernel, a link.
mark_used() { # RELEASE
	touch -c "build/$1/kernel/../complete" 2>/dev/null || true
}

# Modules that were built against another kernel of that release are removed.
link_kernel() { # RELEASE
	touch -c "$entry/complete"
	[ "$(readlink "build/$1/kernel")" = "$entry/kernel" ] && return
	rm -rf "build/$1" "build/vm/initramfs-$1"*
	mkdir -p "build/$1"
	ln -s "$entry/kernel" "build/$1/kernel"
}

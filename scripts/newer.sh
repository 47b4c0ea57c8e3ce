# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables of scripts/kernel
#
# Sourced by scripts/kernel, scripts/soft-roce and scripts/engines: what the installed Debian
# release lacks comes from the next release or its backports. No package is installed, and
# apt's own lists and sources stay unchanged.

newer=trixie
newer_is_used=''

# Prints the URI from which apt gets the installed release; prints nothing if unknown.
mirror() {
	local codename

	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	# shellcheck disable=SC2016 # for apt
	apt-get indextargets --format '$(CODENAME) $(REPO_URI)' 'Created-By: Packages' |
		sed -n "s/^$codename //p" | head -n 1
}

newer_sources() { # URI
	echo "deb $1 $newer main"
	echo "deb $1 $newer-backports main"
}

newer_conf() {
	cat <<-END
		Dir::Etc::sourcelist "$newer_dir/sources.list";
		Dir::Etc::sourceparts "-";
		Dir::State::lists "$newer_dir/lists";
		Dir::Cache "$newer_dir/cache";
		APT::Default-Release "$newer-backports";
	END
}

# Sets $apt so that apt sees only the newer release.
use_newer() {
	local uri

	uri=$(mirror)
	[ -n "$uri" ] || return
	echo "$self: looking in $newer and $newer-backports" >&2
	newer_dir=$kernels/.apt-$newer
	mkdir -p "$newer_dir/lists/partial" "$newer_dir/cache/archives/partial"
	newer_sources "$uri" >"$newer_dir/sources.list"
	{ newer_conf; index_conf "$newer_dir"; } >"$newer_dir/apt.conf"
	apt=(-c "$newer_dir/apt.conf")
	newer_is_used=yes
	apt-get "${apt[@]}" -qq -o APT::Sandbox::User=root update >&2
}

is_too_new() { # PROGRAM
	LC_ALL=C ldd "$1" 2>&1 | grep -q 'version .GLIBC_[0-9.]*. not found'
}

library_runner() { # DIRECTORY, seen from the program
	cat <<-END
		#!/bin/sh
		lib=\$(dirname "\$0")/$1
		exec "\$lib/ld-linux-x86-64.so.2" --library-path "\$lib" "\$0.elf" "\$@"
	END
}

# If a program needs a newer C library than the host's, makes the program run with the C
# library in one of the unpacked packages.
take_library() { # PROGRAMS-DIR
	local dir=$work/kernel/usr/lib/libc program

	mkdir -p "$dir"
	mv "$tree"/usr/lib/x86_64-linux-gnu/{ld-linux-x86-64.so.2,libc.so.6} "$dir"
	while IFS= read -r program; do
		is_too_new "$program" || continue
		mv "$program" "$program.elf"
		library_runner "$(realpath --relative-to "${program%/*}" "$dir")" >"$program"
		chmod +x "$program"
	done < <(find "$1" -type f -perm /100)
}

has_option() { # COMPILER-OPTION
	gcc "$1" -c -o /dev/null -x c - </dev/null 2>/dev/null
}

# Makes the headers use the host's compiler: they name the compiler that built the kernel,
# and options that an older compiler lacks. Also disables their check of pahole's
# version, because this build does not use pahole.
take_compiler() { # HEADERS-DIR
	sed -i 's/gcc-[0-9]*$/gcc/' "$1/.kernelvariables"
	# shellcheck disable=SC2016 # for make
	sed -i 's/^CONFIG_PAHOLE_VERSION=.*/CONFIG_PAHOLE_VERSION=$(PAHOLE_VERSION)/' "$1/include/config/auto.conf"
	has_option -fmin-function-alignment=16 ||
		sed -i /CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT/d "$1"/include/{config/auto.conf,generated/autoconf.h}
}

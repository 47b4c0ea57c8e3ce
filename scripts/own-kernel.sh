# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables of scripts/kernel
#
# Sourced by scripts/kernel: the debug and KCSAN kernels, built from Debian's source
# package with the options in emu/vm/kernel. Each kernel is built once and stays in the
# cache (scripts/cache.sh) until its recipe changes. The recipe is the options, the
# functions in own_steps, the compiler and the source package.

own_source=linux-source-6.12
own_packages=(bc bison flex libssl-dev perl)

# The functions that change or build the kernel. The recipe contains their code without
# comments, so a change of the code makes the kernel be built again.
own_steps=(correct_source keep_counted_on shrink_table configure own_make compile install_own drop_objects)

is_own() { # VERSION
	[ "$1" != common ] && [[ $1 != */* ]] && [ -f "emu/vm/kernel/$1" ]
}

fragments() {
	cat emu/vm/kernel/common "emu/vm/kernel/$version"
}

# ---- recipe --------------------------------------------------------------------

compiler() {
	gcc --version | head -n 1
	ld --version | head -n 1
} 2>/dev/null

own_recipe() { # SOURCE-VERSION
	echo "source $own_source $1"
	compiler
	fragments | grep '^CONFIG_'
	declare -f "${own_steps[@]}"
}

# Prints the version of the source package that apt would download.
source_candidate() {
	apt-cache show --no-all-versions "$own_source" 2>/dev/null | sed -n 's/^Version: //p' | head -n 1
}

recipe_source() { # ENTRY: prints the version of the entry's source package
	sed -n "1s/^source $own_source //p" "$1/recipe" 2>/dev/null
}

is_of_this_recipe() { # ENTRY
	is_complete "$1" && cmp -s "$1/recipe" <(own_recipe "$(recipe_source "$1")")
}

# A clone keeps its kernel while options, steps and compiler stay the same, even if apt
# has a newer source: asking apt each time takes too long.
is_current() {
	! is_own "$version" || is_of_this_recipe "build/$release/kernel/.."
}

# If apt has no lists: prints the source version of the entry that was used last.
cached_source() {
	local other newest=''

	for other in "$kernels/$version"-????????????????; do
		is_of_this_recipe "$other" || continue
		[ -n "$newest" ] && [ ! "$other/complete" -nt "$newest/complete" ] || newest=$other
	done
	[ -z "$newest" ] || recipe_source "$newest"
}

# Sets $recipe and $entry.
choose_own() {
	local source

	source=$(source_candidate)
	[ -n "$source" ] || source=$(cached_source)
	[ -n "$source" ] || return
	recipe=$(own_recipe "$source")
	choose_entry "$version" "$recipe"
}

is_own_cached() {
	choose_own && is_complete "$entry"
}

# ---- source --------------------------------------------------------------------

# Edits FILE. Fails if the result lacks TEXT: in a changed source package, sed might change nothing.
correct() { # FILE SED-SCRIPT TEXT
	sed -i "$2" "$entry/source.new/$1"
	grep -qF -- "$3" "$entry/source.new/$1" || die "$1 of $own_source has changed: what scripts/own-kernel.sh corrects is not there"
}

# Linux 6.12's DMA debugging also records a resource mapping that failed. When the driver unbinds, the debugging
# would warn that this mapping was never unmapped.
correct_source() {
	local off='unlikely(dma_debug_disabled())' failed='dma_mapping_error(dev, dma_addr)'

	correct kernel/dma/debug.c "/^void debug_dma_map_resource(/,/^}/s/if ($off)\$/if ($off || $failed)/" "if ($off || $failed)"
}

# Excludes an allocation from failure injection: vmalloc preloads a vmap_area to split a range, and warns without it.
keep_counted_on() {
	local flags='gfp_mask | __GFP_NOFAIL'

	correct mm/vmalloc.c "/^preload_this_cpu_lock(/,/^}/s/vmap_area_cachep, gfp_mask, node/vmap_area_cachep, $flags, node/" \
		"vmap_area_cachep, $flags, node"
}

# Shrinks KASAN's table of backtraces, which has a million lists in 16 MiB. Each scan of kmemleak follows every
# pointer in this table. In a nearly idle VM, that takes a tenth of the processor time.
shrink_table() {
	correct lib/stackdepot.c 's/^\(#define STACK_BUCKET_NUMBER_ORDER_MAX\) 20$/\1 15/' 'STACK_BUCKET_NUMBER_ORDER_MAX 15'
}

# Makes the directory "source". If this directory exists, it is complete and corrected.
get_source() {
	local package

	[ ! -d "$entry/source" ] || return 0
	rm -rf "$entry/source.new" "$entry/unpacked" "$entry/$own_source"_*.deb
	mkdir -p "$entry/source.new"
	(cd "$entry" && apt-get -qq -o APT::Sandbox::User=root download \
		"$own_source=$(sed -n "1s/^source $own_source //p" <<<"$recipe")") >&2 || return
	package=$(echo "$entry/$own_source"_*.deb)
	dpkg-deb -x "$package" "$entry/unpacked" &&
		tar -C "$entry/source.new" --strip-components 1 -xf "$entry/unpacked/usr/src/$own_source.tar.xz" || return
	rm -rf "$entry/unpacked" "$package"
	correct_source
	keep_counted_on
	shrink_table
	mv "$entry/source.new" "$entry/source"
}

# ---- build ---------------------------------------------------------------------

# Calls make without the caller's environment, which must not affect the kernel: other clones use it, too.
own_make() {
	env -i PATH="$PATH" TMPDIR="${TMPDIR:-/tmp}" LC_ALL=C make -s -C "$entry/source" O="$entry/objects" "$@" >&2
}

# Fails if an option is missing: Kconfig silently drops an option whose dependencies are not met.
check_options() {
	local line missing=''

	while IFS= read -r line; do
		case $line in
		*=n) ! grep -q "^${line%=n}=[ym]" "$entry/objects/.config" || missing+=" $line" ;;
		CONFIG_*) grep -qxF "$line" "$entry/objects/.config" || missing+=" $line" ;;
		esac
	done <"$entry/objects/fragments"
	[ -z "$missing" ] || die "the kernel's configuration has not taken:$missing"
}

configure() {
	mkdir -p "$entry/objects"
	fragments >"$entry/objects/fragments"
	own_make allnoconfig
	(cd "$entry/source" && KCONFIG_CONFIG="$entry/objects/.config" scripts/kconfig/merge_config.sh \
		-m -O "$entry/objects" "$entry/objects/.config" "$entry/objects/fragments") >/dev/null
	own_make olddefconfig
	check_options
}

# KCSAN checks only peerpin's modules: data races in the kernel itself would be splats in every VM.
compile() {
	own_make -j "$(nproc)" KCSAN_SANITIZE=n vmlinux modules
}

# Remove objects that the build of modules does not read.
drop_objects() {
	find "$entry/objects" -path "$entry/objects/scripts" -prune -o -path "$entry/objects/tools" -prune -o \
		-type f \( -name '*.o' -o -name '*.a' -o -name '*.ko' \) -exec rm {} +
}

install_own() {
	local modules

	rm -rf "$entry/kernel"
	mkdir "$entry/kernel"
	own_make modules_install INSTALL_MOD_PATH="$entry/kernel" INSTALL_MOD_STRIP=1
	modules=$(echo "$entry"/kernel/lib/modules/*)
	cp "$entry/objects/vmlinux" "$entry/kernel/"
	cp "$entry/objects/.config" "$entry/kernel/config"
	ln "$entry/kernel/config" "$modules/config"
	rm -f "$modules/source" "$modules/build"
	ln -s ../../../../objects "$modules/build"
}

# Continues an interrupted build: make skips finished objects.
build_entry() {
	configure
	echo "$self: building the kernel $version, once; this takes half an hour" >&2
	progress "building the kernel $version" "objects_below $entry/objects" compile || exit
	install_own
	drop_objects
	complete_entry "$version" "$recipe"
}

update_and_choose() {
	apt_get update || true
	choose_own || die "apt-get has no $own_source"
}

# If the download fails, updates apt's lists: they may name a version that the archive no longer has.
get_own() {
	choose_own || update_and_choose
	is_complete "$entry" && return
	install_packages "${kernel_packages[@]}" "${own_packages[@]}"
	choose_own
	lock_cache "$version"
	is_complete "$entry" && return
	get_source || {
		update_and_choose
		is_complete "$entry" && return
		get_source || die "could not download $own_source; is the network up?"
	}
	build_entry
}

link_own() {
	get_own
	release=$(basename "$entry"/kernel/lib/modules/*)
	link_kernel "$release"
	echo "$release" >"build/kernels/$version"
}

# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # variables of scripts/kernel
#
# Sourced by scripts/kernel: kernels that no distribution has, built here from
# the distribution's source with the options of emu/vm/kernel. Source and objects
# stay in build/kernels/own, because modules are built against them.

own_source=linux-source-6.12
own_packages=(bc bison flex libssl-dev perl)
own=build/kernels/own

is_own() { # VERSION
	[ "$1" != common ] && [[ $1 != */* ]] && [ -f "emu/vm/kernel/$1" ]
}

fragments() {
	cat emu/vm/kernel/common "emu/vm/kernel/$version"
}

# One that was built with other options is none: tests rely on them.
is_current() {
	! is_own "$version" || cmp -s "build/$release/kernel/options" <(fragments)
}

get_source() {
	local package

	[ ! -d "$own/source" ] || return 0
	mkdir -p "$own"
	rm -f "$own/$own_source"_*.deb
	(cd "$own" && apt-get -qq -o APT::Sandbox::User=root download "$own_source") >&2 || return
	package=$(echo "$own/$own_source"_*.deb)
	dpkg-deb -x "$package" "$own/unpacked" && mkdir "$own/source.new" &&
		tar -C "$own/source.new" --strip-components 1 -xf "$own/unpacked/usr/src/$own_source.tar.xz" || return
	rm -rf "$own/unpacked" "$package"
	mv "$own/source.new" "$own/source"
}

get_source_or_update() {
	get_source && return
	rm -rf "$own/source.new" "$own/unpacked"
	apt_get update || true
	get_source || die "could not download $own_source; is the network up?"
}

# A kernel whose source is not as it was would lack the correction, and nobody would miss it.
correct() { # FILE SED-SCRIPT TEXT: that it has then
	sed -i "$2" "$own/source/$1"
	grep -qF -- "$3" "$own/source/$1" || die "$1 of $own_source has changed: what scripts/own-kernel.sh corrects is not there"
}

# A mapping that failed is no mapping, but Linux 6.12 keeps books of those of resources: as of
# one that was never undone, and of those it warns when the driver goes.
correct_source() {
	local off='unlikely(dma_debug_disabled())' failed='dma_mapping_error(dev, dma_addr)'

	correct kernel/dma/debug.c "/^void debug_dma_map_resource(/,/^}/s/if ($off)\$/if ($off || $failed)/" "if ($off || $failed)"
}

# What the kernel is to cut addresses by is counted on, and missing it is a warning: that may not fail, nor its page.
keep_counted_on() {
	local flags='gfp_mask | __GFP_NOFAIL'

	correct mm/vmalloc.c "/^preload_this_cpu_lock(/,/^}/s/vmap_area_cachep, gfp_mask, node/vmap_area_cachep, $flags, node/" \
		"vmap_area_cachep, $flags, node"
}

# KASAN's backtraces have a table of a million lists, sixteen MiB in which each scan of kmemleak follows
# every pointer: a tenth of all that a machine does which does little.
shrink_table() {
	correct lib/stackdepot.c 's/^\(#define STACK_BUCKET_NUMBER_ORDER_MAX\) 20$/\1 15/' 'STACK_BUCKET_NUMBER_ORDER_MAX 15'
}

own_make() {
	make -s -C "$own/source" O="$PWD/$own/$version" "$@" >&2
}

# An option that Kconfig drops, because of another one, would not be missed.
check_options() {
	local line missing=''

	while IFS= read -r line; do
		case $line in
		*=n) ! grep -q "^${line%=n}=[ym]" "$own/$version/.config" || missing+=" $line" ;;
		CONFIG_*) grep -qxF "$line" "$own/$version/.config" || missing+=" $line" ;;
		esac
	done <"$own/$version/fragments"
	[ -z "$missing" ] || die "the kernel's configuration has not taken:$missing"
}

configure() {
	mkdir -p "$own/$version"
	fragments >"$own/$version/fragments"
	own_make allnoconfig
	(cd "$own/source" && KCONFIG_CONFIG="$PWD/../$version/.config" scripts/kconfig/merge_config.sh \
		-m -O "../$version" "../$version/.config" "../$version/fragments") >/dev/null
	own_make olddefconfig
	check_options
}

# What the build of modules does not read.
drop_objects() {
	find "$own/$version" -path "$own/$version/scripts" -prune -o -path "$own/$version/tools" -prune -o \
		-type f \( -name '*.o' -o -name '*.a' -o -name '*.ko' \) -exec rm {} +
}

install_own() {
	local modules=$work/kernel/lib/modules/$release

	own_make modules_install INSTALL_MOD_PATH="$PWD/$work/kernel" INSTALL_MOD_STRIP=1
	cp "$own/$version/vmlinux" "$own/$version/.config" "$work/kernel/"
	mv "$work/kernel/.config" "$work/kernel/config"
	ln "$work/kernel/config" "$modules/config"
	cp "$own/$version/fragments" "$work/kernel/options"
	rm -f "$modules/source" "$modules/build"
	ln -s "../../../../../kernels/own/$version" "$modules/build"
}

build_own() {
	install_packages "${kernel_packages[@]}" "${own_packages[@]}"
	get_source_or_update
	correct_source
	keep_counted_on
	shrink_table
	configure
	echo "$self: building the kernel $version, once; this takes some minutes" >&2
	# of races only our modules' are looked for: those of the kernel's own would end each machine
	own_make -j "$(nproc)" KCSAN_SANITIZE=n vmlinux modules
	release=$(make -s -C "$own/source" O="$PWD/$own/$version" kernelrelease)
	work=$(mktemp -d build/kernels/XXXXXX)
	trap 'rm -rf "$work"' EXIT
	install_own
	drop_objects
	# with what was built for another one of that name
	rm -rf "build/$release" "build/vm/initramfs-$release"*
	mkdir -p "build/$release"
	mv -T "$work/kernel" "build/$release/kernel"
	echo "$release" >"build/kernels/$version"
}

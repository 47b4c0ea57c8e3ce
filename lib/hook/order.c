// SPDX-License-Identifier: MIT
#include "order.h"

#include "elf.h"
#include "loader.h"

#include <dlfcn.h>
#include <stddef.h>

/* In glibc the handle of a library is its link map. */
static bool is_libcuda(const void *function)
{
	const struct link_map *libcuda = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
	const bool is = libcuda && pp_elf_object(function) == libcuda;

	if (libcuda)
		dlclose((void *)libcuda);
	return is;
}

/* Another intercepting library may come before this library: it passes its calls on to this library. */
bool pp_order_is_right(void)
{
	const void *first_dlsym = pp_loader_find(RTLD_DEFAULT, "dlsym");
	const void *first_free = pp_loader_find(RTLD_DEFAULT, "cuMemFree_v2");

	return first_dlsym && !pp_loader_is_libc(first_dlsym) && first_free && !is_libcuda(first_free);
}

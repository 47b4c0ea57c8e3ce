// SPDX-License-Identifier: MIT
/*
 * libc's dlsym() cannot be asked for by dlvsym(), as others do: that name is
 * taken too. So libc's table of symbols is read.
 */
#include "loader.h"

#include "elf.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

/* Several threads may find them at a time: they find the same. */
static _Atomic(void *) libc_dlsym, next_dlsym, next_dlvsym;

/* The two are libdl's before glibc 2.34. */
static void *find_in_libc(const char *name)
{
	static const char *const files[] = { "libc.so.6", "libdl.so.2" };
	void *found = NULL;

	for (unsigned int i = 0; i < sizeof(files) / sizeof(*files) && !found; i++) {
		const struct link_map *object = pp_elf_file(files[i]);

		found = object ? pp_elf_definition(object, name) : NULL;
	}
	return found;
}

bool pp_loader_is_libc(const void *function)
{
	return function == find_in_libc("dlsym") || function == find_in_libc("dlvsym");
}

/* relaxed, here and below: what a pointer leads to was there before this library */
void *(*pp_loader_libc(void))(void *, const char *)
{
	void *known = atomic_load_explicit(&libc_dlsym, memory_order_relaxed);

	if (!known) {
		known = find_in_libc("dlsym");
		atomic_store_explicit(&libc_dlsym, known, memory_order_relaxed);
	}
	return (void *(*)(void *, const char *))known;
}

/* What stands behind the call keeps it from being a jump, by which libc would take our caller for its own. */
static void *ask(void *(*dlsym_fn)(void *, const char *), void *handle, const char *name)
{
	void *found = dlsym_fn(handle, name);

	__asm__ volatile ("" : "+r" (found));
	return found;
}

void *pp_loader_find(void *handle, const char *name)
{
	return ask(pp_loader_libc(), handle, name);
}

bool pp_loader_is_copy(const void *function)
{
	const struct link_map *object = pp_elf_object(function);

	return object && object != pp_elf_object((const void *)pp_loader_is_copy) &&
	       pp_elf_definition(object, "pp_hook_add");
}

/* A copy has all the functions even where libcuda has not: it says so, asked by its own dlsym(). */
void *pp_loader_next(const char *name)
{
	void *found = pp_loader_find(RTLD_NEXT, name);

	if (!found || !pp_loader_is_copy(found))
		return found;
	return ask((void *(*)(void *, const char *))pp_elf_definition(pp_elf_object(found), "dlsym"), RTLD_NEXT, name);
}

static void *next(_Atomic(void *) *known, const char *name)
{
	void *found = atomic_load_explicit(known, memory_order_relaxed);

	if (found)
		return found;
	found = pp_loader_find(RTLD_NEXT, name);
	if (!found)
		found = find_in_libc(name);
	atomic_store_explicit(known, found, memory_order_relaxed);
	return found;
}

void *(*pp_loader_dlsym(void))(void *, const char *)
{
	return (void *(*)(void *, const char *))next(&next_dlsym, "dlsym");
}

void *(*pp_loader_dlvsym(void))(void *, const char *, const char *)
{
	return (void *(*)(void *, const char *, const char *))next(&next_dlvsym, "dlvsym");
}

void pp_loader_hold(const void *function)
{
	Dl_info info;

	if (dladdr(function, &info))
		(void)!dlopen(info.dli_fname, RTLD_NOLOAD | RTLD_LAZY);
}

/* The handle is kept where something was found: it holds libcuda in the process. */
static void *find_in_libcuda(const char *name)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
	void *found = lib ? pp_loader_dlsym()(lib, name) : NULL;

	if (lib && !found)
		dlclose(lib);
	return found;
}

void *pp_loader_behind(const char *name)
{
	void *found = pp_loader_next(name);

	if (!found)
		return find_in_libcuda(name);
	/* it may have come by dlopen() with RTLD_GLOBAL */
	pp_loader_hold(found);
	return found;
}

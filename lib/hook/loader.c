// SPDX-License-Identifier: MIT
/*
 * Other interceptors find libc's dlsym() by dlvsym(). This library replaces dlvsym(),
 * too, so it reads libc's symbol table.
 */
#include "loader.h"

#include "elf.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

/* Several threads may look up these functions at the same time; all find the same functions. */
static _Atomic(void *) libc_dlsym, next_dlsym, next_dlvsym;

/* Before glibc 2.34 dlsym() and dlvsym() are in libdl. */
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

/* The loads here and below are relaxed: the code behind the pointer was loaded before this library. */
void *(*pp_loader_libc(void))(void *, const char *)
{
	void *known = atomic_load_explicit(&libc_dlsym, memory_order_relaxed);

	if (!known) {
		known = find_in_libc("dlsym");
		atomic_store_explicit(&libc_dlsym, known, memory_order_relaxed);
	}
	return (void *(*)(void *, const char *))known;
}

/* The asm prevents a tail call: libc must see this function as the caller, not the caller of this function. */
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

/*
 * If the next definition is that of a copy of this library, asks the copy's dlsym(): the copy
 * defines functions even if libcuda lacks them.
 */
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

/* If @name is found, the handle is not closed, so that libcuda stays in the process. */
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
	/* a library that was loaded by dlopen() with RTLD_GLOBAL could be unloaded */
	pp_loader_hold(found);
	return found;
}

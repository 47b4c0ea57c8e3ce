// SPDX-License-Identifier: MIT
/*
 * symbol: dlsym() and dlvsym(). For RTLD_NEXT and RTLD_DEFAULT the loader uses the
 * return address of the call. So look-ups that do not concern this library must reach
 * the loader by a jump. The build always enables tail calls
 * (-foptimize-sibling-calls), and a test checks the result.
 */
#include "elf.h"
#include "loader.h"
#include "wrap.h"

#include <dlfcn.h>
#include <stddef.h>

/* The exported symbol is an alias, so that this library uses its own function even if another library replaces it. */
#define ALIAS(function) __attribute__((alias(#function), visibility("default")))

static void *symbol(void *restrict handle, const char *restrict name);
static void *versioned(void *restrict handle, const char *restrict name, const char *restrict version);

void *dlsym(void *restrict handle, const char *restrict name) ALIAS(symbol);
void *dlvsym(void *restrict handle, const char *restrict name, const char *restrict version) ALIAS(versioned);

/* Does the caller's object define @name itself? Then the caller looks for the next definition. */
static bool intercepts(const void *caller, const char *name)
{
	const struct link_map *object = pp_elf_object(caller);

	return object && pp_elf_definition(object, name);
}

static bool precedes(const void *caller)
{
	const struct link_map *object = pp_elf_object(caller);

	return object && pp_elf_precedes(object);
}

/* Searches the caller's own libraries, which may not be in the global scope. */
static void *find_near(const void *caller, const char *name)
{
	const struct link_map *object = pp_elf_object(caller);
	void *lib, *found;

	if (!object || !*object->l_name)
		return NULL;
	lib = dlopen(object->l_name, RTLD_NOLOAD | RTLD_LAZY);
	if (!lib)
		return NULL;
	found = pp_loader_find(lib, name);
	dlclose(lib);
	return found;
}

/*
 * Finds the definition that RTLD_DEFAULT would give the caller without this library. The
 * definition may lie before this library, after it, or in the caller's own libraries. If
 * none exists, the last look-up sets the error for dlerror().
 */
static void *wrap_in_scope(enum pp_wrap_id id, const void *caller)
{
	const char *name = pp_wrap_name(id);
	void *found = pp_loader_find(RTLD_DEFAULT, name);

	if (found && !pp_wrap_is(id, found))
		return pp_wrap(id, found);
	if (pp_loader_next(name))
		return pp_wrap_linked(id);
	found = find_near(caller, name);
	if (found && !pp_wrap_is(id, found))
		return pp_wrap(id, found);
	return pp_loader_next(name);
}

/* A function of a copy that precedes this library is not wrapped here: the copy wraps it. */
static void *wrap_found(enum pp_wrap_id id, void *found, const void *caller)
{
	if (!found || (pp_loader_is_copy(found) && precedes(found)))
		return found;
	return pp_wrap_is(id, found) ? wrap_in_scope(id, caller) : pp_wrap(id, found);
}

static bool is_scope(const void *handle)
{
	return handle == RTLD_DEFAULT || handle == RTLD_NEXT;
}

/* An interceptor that comes before this library gets our dlsym() in place of libc's, so that it cannot bypass us. */
static void *loader_symbol(const char *name, void *found, const void *caller)
{
	if (!pp_loader_is_libc(found) || (intercepts(caller, name) && !precedes(caller)))
		return found;
	return pp_elf_same(name, "dlsym") ? (void *)symbol : (void *)versioned;
}

static bool is_loader_symbol(const char *name)
{
	return pp_elf_same(name, "dlsym") || pp_elf_same(name, "dlvsym");
}

static void *symbol(void *restrict handle, const char *restrict name)
{
	const void *caller = __builtin_return_address(0);
	const enum pp_wrap_id id = pp_wrap_symbol(name);

	if (id == PP_WRAP_NONE) {
		if (!is_scope(handle) && is_loader_symbol(name))
			return loader_symbol(name, pp_loader_dlsym()(handle, name), caller);
		return pp_loader_dlsym()(handle, name);
	}
	if (handle == RTLD_NEXT && intercepts(caller, name)) {
		if (precedes(caller) && !pp_loader_next(name))
			return NULL;
		return pp_loader_libc()(handle, name);
	}
	if (is_scope(handle))
		return wrap_in_scope(id, caller);
	return wrap_found(id, pp_loader_dlsym()(handle, name), caller);
}

/* Our symbols have no versions, so a versioned look-up never finds them. The function that it finds is wrapped here. */
static void *versioned(void *restrict handle, const char *restrict name, const char *restrict version)
{
	const void *caller = __builtin_return_address(0);
	const enum pp_wrap_id id = pp_wrap_symbol(name);

	if (is_loader_symbol(name))
		return loader_symbol(name, pp_loader_dlvsym()(is_scope(handle) ? RTLD_DEFAULT : handle, name, version),
				     caller);
	if (id == PP_WRAP_NONE || (handle == RTLD_NEXT && intercepts(caller, name)))
		return pp_loader_dlvsym()(handle, name, version);
	return wrap_found(id, pp_loader_dlvsym()(is_scope(handle) ? RTLD_DEFAULT : handle, name, version), caller);
}

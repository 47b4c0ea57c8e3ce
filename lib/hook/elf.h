/* SPDX-License-Identifier: MIT */
/*
 * The objects of this process and their symbols, found without dlsym(). Intercepting
 * libraries call our dlsym() early, to find the libc functions that they replace. So
 * our dlsym() must not call functions of libc that may be replaced.
 */
#ifndef PP_HOOK_ELF_H
#define PP_HOOK_ELF_H

#include <link.h>
#include <stdbool.h>

/* The object that contains an address, or NULL. */
struct link_map *pp_elf_object(const void *addr);

/* The first object with this file name, in any directory, or NULL. */
struct link_map *pp_elf_file(const char *name);

/* The definition of @symbol in @object itself, of any version, or NULL. */
void *pp_elf_definition(const struct link_map *object, const char *symbol);

static inline bool pp_elf_same(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* Is @object searched for symbols before this library? */
bool pp_elf_precedes(const struct link_map *object);

#endif

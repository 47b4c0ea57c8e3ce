/* SPDX-License-Identifier: MIT */
/*
 * The objects of this process and what they define, found without dlsym().
 * Others call ours while nothing else works yet, to find the functions of libc
 * that they take the place of: so it calls none of these.
 */
#ifndef PP_HOOK_ELF_H
#define PP_HOOK_ELF_H

#include <link.h>
#include <stdbool.h>

/* The object that an address lies in, or NULL. */
struct link_map *pp_elf_object(const void *addr);

/* The first object that is a file of this name, of any directory, or NULL. */
struct link_map *pp_elf_file(const char *name);

/* What @object itself defines @symbol as, of any version, or NULL. */
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

/* SPDX-License-Identifier: MIT */
/* Is a library loaded? */
#ifndef PP_LOADED_H
#define PP_LOADED_H

#include <link.h>
#include <stdbool.h>
#include <string.h>

struct pp_loaded {
	const char *prefix;
	unsigned long long loads, seen;
	bool found;
};

static inline int pp_loaded_look(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *slash = strrchr(info->dlpi_name, '/'), *name = slash ? slash + 1 : info->dlpi_name;
	struct pp_loaded *l = arg;

	(void)size;
	l->loads = info->dlpi_adds;
	l->found = l->loads != l->seen && !strncmp(name, l->prefix, strlen(l->prefix));
	return l->found || l->loads == l->seen;
}

/*
 * Returns true if the file name of a loaded library begins with @prefix. *@loads is the number of libraries loaded so far,
 * as an earlier call stored it, or 0. This call stores the present number. If the number is the same, returns false.
 *
 * dlopen(RTLD_NOLOAD) waits while another thread runs the constructors of a library. This function does not. So callers
 * under a lock that a constructor may wait for call this function first.
 */
static inline bool pp_is_loaded(const char *prefix, unsigned long long *loads)
{
	struct pp_loaded l = { .prefix = prefix, .seen = *loads };

	dl_iterate_phdr(pp_loaded_look, &l);
	*loads = l.loads;
	return l.found;
}

#endif

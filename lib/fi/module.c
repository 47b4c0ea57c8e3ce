// SPDX-License-Identifier: MIT
#include <fnmatch.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include "module.h"

/*
 * Modules that call ofi_monitors_init() themselves and cache host memory: verbs and efa, opx since libfabric 2.3. The
 * module of cxi does not call it, so it has no monitor and caches nothing. The asterisk is for names with a version, as
 * libverbs-1.12-fi.so.
 */
static const char *const names[] = { "libverbs*-fi.so", "libefa*-fi.so", "libopx*-fi.so" };

static int look_at(struct dl_phdr_info *info, size_t size, void *arg)
{
	const char *slash = strrchr(info->dlpi_name, '/'), *file = slash ? slash + 1 : info->dlpi_name;
	struct pp_module *out = arg;
	size_t i;

	(void)size;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (fnmatch(names[i], file, 0))
			continue;
		snprintf(out->name, sizeof(out->name), "%s", file);
		return 1;
	}
	return 0;
}

bool pp_module_find(struct pp_module *out)
{
	return dl_iterate_phdr(look_at, out);
}

// SPDX-License-Identifier: MIT
/* cuGetProcAddress() of the emulated CUDA finds every exported function. */
#include "test/unit/unit.h"

#include <cuda.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum {
	LINE = 128,
	VERSION = 13000,
};

typedef CUresult find_fn(const char *symbol, void **fn, int version, cuuint64_t flags);

static void *lib;
static find_fn *find;

static int setup(void **state)
{
	(void)state;
	lib = dlopen(BUILD "/emu/libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return -1;
	find = (find_fn *)dlsym(lib, "cuGetProcAddress");
	return find ? 0 : -1;
}

/* Cut cuNAME[_vN][_ptds or _ptsz] to cuNAME. True if @name was a variant for a per-thread default stream. */
static bool take_suffixes(char *name)
{
	const bool per_thread = strstr(name, "_pt");

	name[strcspn(name, "_")] = '\0';
	return per_thread;
}

static void is_found(const char *exported)
{
	const cuuint64_t flags[] = { 0, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM };
	void *fn = NULL, *other = NULL;
	char name[LINE];
	bool per_thread;

	snprintf(name, sizeof(name), "%s", exported);
	per_thread = take_suffixes(name);
	if (find(name, &fn, VERSION, flags[0]) || find(name, &other, VERSION, flags[1]))
		fail_msg("cuGetProcAddress() does not find %s, but the library exports %s", name, exported);
	if (!fn || !other || (per_thread && fn == other))
		fail_msg("cuGetProcAddress() of %s returns another function than %s", name, exported);
}

static void exported_functions_are_found_by_name(void **state)
{
	FILE *map = fopen("emu/cuda/libcuda.map", "r");
	char line[LINE], name[LINE];
	int found = 0;

	(void)state;
	assert_non_null(map);
	while (fgets(line, sizeof(line), map)) {
		if (sscanf(line, " %127[a-zA-Z0-9_];", name) != 1 || strncmp(name, "cu", 2) != 0)
			continue;
		is_found(name);
		found++;
	}
	fclose(map);
	assert_in_range(found, 100, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exported_functions_are_found_by_name),
	};

	return cmocka_run_group_tests_name("libcuda_proc", tests, setup, NULL);
}

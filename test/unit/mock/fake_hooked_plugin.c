// SPDX-License-Identifier: MIT
/* A plugin linked with libcuda, for a program that is not linked with libcuda. */
#include "test/unit/hook/hook_case.h"

#include <dlfcn.h>

int cuMemFree_v2(uint64_t addr);
int plugin_free(int way, uint64_t addr);

/* Free @addr. @way 0 and 1: by dlsym(), which may find nothing: CU_NOT_FOUND; 2: by the linked symbol. */
int plugin_free(int way, uint64_t addr)
{
	void *const scopes[] = { RTLD_DEFAULT, RTLD_NEXT };
	int (*found)(uint64_t);

	if (way == 2)
		return cuMemFree_v2(addr);
	found = (int (*)(uint64_t))dlsym(scopes[way], "cuMemFree_v2");
	return found ? found(addr) : CU_NOT_FOUND;
}

// SPDX-License-Identifier: MIT
/* A libcuda that has only the calls that free memory. Each call records its arguments. */
#include "test/unit/hook/hook_case.h"

#include <stddef.h>
#include <string.h>

struct fake_cuda fake_cuda;

#define FREE(symbol, ...) \
	int symbol(uint64_t a, uint64_t b, uint64_t c); \
	int symbol(uint64_t a, uint64_t b, uint64_t c) \
	{ \
		fake_cuda.frees++; \
		fake_cuda.last = #symbol; \
		fake_cuda.args[0] = a; \
		fake_cuda.args[1] = b; \
		fake_cuda.args[2] = c; \
		return fake_cuda.answer; \
	}

HOOK_CASES(FREE)

/* cuMemFree_v2() under a name that no library intercepts. It is as cheap as possible. */
int fake_free(uint64_t a);
int fake_free(uint64_t a)
{
	return a == 0;
}

int cuPointerGetAttributes(unsigned int n, const int *attributes, void **data, uint64_t addr);
int cuPointerGetAttributes(unsigned int n, const int *attributes, void **data, uint64_t addr)
{
	fake_cuda.queries++;
	if (addr >= UNKNOWN_ADDR)
		return addr == UNKNOWN_ADDR ? CU_INVALID_VALUE : 0;
	for (unsigned int i = 0; i < n; i++)
		*(uint64_t *)data[i] = attributes[i] == 11 ? addr & -(uint64_t)ALLOCATION_SIZE : ALLOCATION_SIZE;
	return 0;
}

int cuGetProcAddress(const char *name, void **fn, int version, uint64_t flags);
int cuGetProcAddress_v2(const char *name, void **fn, int version, uint64_t flags, int *why);

#define ROW(symbol, name, since, per_thread, what) { #name, since, per_thread, (void *)symbol },

static const struct {
	const char *name;
	int since;
	int per_thread;
	void *fn;
} procs[] = {
	HOOK_CASES(ROW)
	ROW(cuGetProcAddress, cuGetProcAddress, 11030, 0, NOTHING)
	ROW(cuGetProcAddress_v2, cuGetProcAddress, 12000, 0, NOTHING)
	ROW(fake_free, cuFakeFree, 1000, 0, NOTHING)
};

static void *look_up(const char *name, int version, uint64_t flags)
{
	void *found = NULL;

	for (unsigned int i = 0; i < sizeof(procs) / sizeof(*procs); i++)
		if (!strcmp(procs[i].name, name) && procs[i].since <= version &&
		    (!procs[i].per_thread || flags & CU_PER_THREAD))
			found = procs[i].fn;
	return found;
}

int cuGetProcAddress(const char *name, void **fn, int version, uint64_t flags)
{
	void *found = look_up(name, version, flags);

	if (!found)
		return CU_NOT_FOUND;
	*fn = found;
	return 0;
}

int cuGetProcAddress_v2(const char *name, void **fn, int version, uint64_t flags, int *why)
{
	*fn = look_up(name, version, flags);
	*why = !*fn;
	return 0;
}

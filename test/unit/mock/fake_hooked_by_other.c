// SPDX-License-Identifier: MIT
/*
 * Another library that intercepts cuMemFree_v2() and dlsym(), as profilers do. Its dlsym() returns
 * its own cuMemFree_v2(). If MUST_SEE_FREES is set, both ways must be called, or the process fails.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef __aarch64__
#define GLIBC "GLIBC_2.17"
#else
#define GLIBC "GLIBC_2.2.5"
#endif

enum { LEFT_OUT = 66 };

static _Atomic unsigned int calls_linked, calls_found;
static int (*found)(uint64_t addr);

int cuMemFree_v2(uint64_t addr);

static void *real_dlsym(void *handle, const char *name)
{
	static void *(*real)(void *, const char *);

	if (!real)
		real = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", GLIBC);
	return real(handle, name);
}

static int free_found(uint64_t addr)
{
	calls_found++;
	return found(addr);
}

/* Call the next definition in search order, or else the function of libcuda. */
int cuMemFree_v2(uint64_t addr)
{
	static int (*real)(uint64_t);

	if (!real)
		real = (int (*)(uint64_t))real_dlsym(RTLD_NEXT, "cuMemFree_v2");
	if (!real)
		real = (int (*)(uint64_t))real_dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemFree_v2");
	calls_linked++;
	return real(addr);
}

void *dlsym(void *restrict handle, const char *restrict name)
{
	if (strcmp(name, "cuMemFree_v2") || handle == RTLD_NEXT || handle == RTLD_DEFAULT)
		return real_dlsym(handle, name);
	found = (int (*)(uint64_t))real_dlsym(handle, name);
	return found ? (void *)free_found : NULL;
}

/* Fail if a way of the free was left out. Only programs that free memory set MUST_SEE_FREES. */
static void __attribute__((destructor)) check(void)
{
	if (getenv("MUST_SEE_FREES") && !(calls_linked && calls_found))
		_exit(LEFT_OUT);
}

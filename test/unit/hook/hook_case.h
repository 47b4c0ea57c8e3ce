/* SPDX-License-Identifier: MIT */
/* Shared by the tests of libpeerpin-hook and their mock libcuda. */
#ifndef HOOK_CASE_H
#define HOOK_CASE_H

#include <stdint.h>

/*
 * Calls that free: symbol; name and version for cuGetProcAddress(); 1 for a per-thread variant;
 * extent of the free.
 */
#define HOOK_CASES(_) \
	_(cuMemFree, cuMemFree, 2000, 0, ALLOCATION) \
	_(cuMemFree_v2, cuMemFree, 3020, 0, ALLOCATION) \
	_(cuMemFreeAsync, cuMemFreeAsync, 11020, 0, ALLOCATION) \
	_(cuMemFreeAsync_ptsz, cuMemFreeAsync, 11020, 1, ALLOCATION) \
	_(cuMemFreeHost, cuMemFreeHost, 2000, 0, ALLOCATION) \
	_(cuMemHostUnregister, cuMemHostUnregister, 4000, 0, ALLOCATION) \
	_(cuIpcCloseMemHandle, cuIpcCloseMemHandle, 4010, 0, ALLOCATION) \
	_(cuMemUnmap, cuMemUnmap, 10020, 0, RANGE) \
	_(cuMemPoolTrimTo, cuMemPoolTrimTo, 11020, 0, ALL) \
	_(cuMemPoolDestroy, cuMemPoolDestroy, 11020, 0, ALL) \
	_(cuDeviceGraphMemTrim, cuDeviceGraphMemTrim, 11040, 0, ALL) \
	_(cuCtxDestroy, cuCtxDestroy, 2000, 0, ALL) \
	_(cuCtxDestroy_v2, cuCtxDestroy, 4000, 0, ALL) \
	_(cuCtxDetach, cuCtxDetach, 2000, 0, ALL) \
	_(cuGreenCtxDestroy, cuGreenCtxDestroy, 12040, 0, ALL) \
	_(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, 7000, 0, ALL) \
	_(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, 11000, 0, ALL) \
	_(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, 7000, 0, ALL) \
	_(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, 11000, 0, ALL) \
	_(cuModuleUnload, cuModuleUnload, 2000, 0, ALL) \
	_(cuLibraryUnload, cuLibraryUnload, 12000, 0, ALL) \
	_(cuDestroyExternalMemory, cuDestroyExternalMemory, 10000, 0, ALL) \
	_(cuGraphicsUnmapResources, cuGraphicsUnmapResources, 3000, 0, ALL) \
	_(cuGraphicsUnmapResources_ptsz, cuGraphicsUnmapResources, 7000, 1, ALL) \
	_(cuGraphicsUnregisterResource, cuGraphicsUnregisterResource, 3000, 0, ALL) \
	_(cuGLUnmapBufferObject, cuGLUnmapBufferObject, 2000, 0, ALL) \
	_(cuGLUnmapBufferObjectAsync, cuGLUnmapBufferObjectAsync, 2030, 0, ALL) \
	_(cuGLUnregisterBufferObject, cuGLUnregisterBufferObject, 2000, 0, ALL) \
	_(cuCheckpointProcessCheckpoint, cuCheckpointProcessCheckpoint, 12080, 0, ALL)

enum {
	CU_INVALID_VALUE = 1,
	CU_NOT_FOUND = 500,
	CU_PER_THREAD = 2,
	DRIVER = 13000,			/* version of the mock driver */
	ALLOCATION_SIZE = 1 << 20,	/* an allocation begins at each multiple of this size */
};

/* The mock libcuda knows no memory at or above this address. */
#define UNKNOWN_ADDR (1ull << 50)

/**
 * struct fake_cuda - state of the mock libcuda, exported as `fake_cuda`
 * @frees: number of calls that freed something
 * @last: symbol of the last call that freed something
 * @args: first three arguments of that call
 * @answer: return value of calls that free
 * @queries: number of calls of cuPointerGetAttributes()
 */
struct fake_cuda {
	_Atomic unsigned int frees;
	const char *_Atomic last;
	_Atomic uint64_t args[3];
	int answer;
	_Atomic unsigned int queries;
};

typedef int (*free_fn)(uint64_t a, uint64_t b, uint64_t c);
typedef int (*find_fn)(const char *name, void **fn, int version, uint64_t flags);
typedef int (*find_why_fn)(const char *name, void **fn, int version, uint64_t flags, int *why);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Shared by the test programs: exit statuses for `peerpin verify`, and GPU memory with a model. The
 * model is a copy of the expected contents in host memory.
 */
#ifndef MUTANTS_GPU_H
#define MUTANTS_GPU_H

#include <cuda.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum {
	CANNOT = 1,
	DATA_WRONG = 2,

	KIB = 1 << 10,
	MIB = 1 << 20,
};

/* Print a line for manual runs and exit with all pins left: the driver must undo the pins. */
static inline void leave(int status, const char *what, int line)
{
	fprintf(stderr, "line %d: %s\n", line, what);
	exit(status);
}

/* NEED: an injected fault excuses a failure; TRUE_DATA: no fault excuses wrong data */
#define NEED(condition) ((condition) ? (void)0 : leave(CANNOT, #condition, __LINE__))
#define TRUE_DATA(condition) ((condition) ? (void)0 : leave(DATA_WRONG, #condition, __LINE__))

/* GPU memory; @model: the expected contents, or NULL */
struct memory {
	CUdeviceptr va;
	size_t size;
	unsigned char *model;
};

static unsigned char scratch[4 * MIB];

/* The GPU delays asynchronous work by 10 ms. So without SYNC_MEMOPS a device finds old data. */
static inline void gpu_start(void)
{
	CUcontext ctx;

	NEED(!setenv("EMUGPU_COPY_DELAY_MS", "10", 0));
	NEED(!cuInit(0));
	NEED(!cuDevicePrimaryCtxRetain(&ctx, 0));
	NEED(!cuCtxSetCurrent(ctx));
}

static inline void memory_sync_memops(const struct memory *m)
{
	int on = 1;

	NEED(!cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, m->va));
}

/* All words differ, also between seeds. Another process fills other words. */
static inline void model_fill(struct memory *m, uint32_t seed)
{
	static uint32_t salt;
	uint32_t *word = (uint32_t *)m->model;
	size_t i;

	if (!salt)
		NEED(getrandom(&salt, sizeof(salt), 0) == sizeof(salt));
	for (i = 0; i < m->size / 4; i++)
		word[i] = salt + (seed << 24) + (uint32_t)i * 2654435761u;
}

static inline struct memory memory_new(size_t size, uint32_t seed)
{
	struct memory m = { .size = size, .model = malloc(size) };

	NEED(m.model);
	NEED(!cuMemAlloc(&m.va, size));
	memory_sync_memops(&m);
	model_fill(&m, seed);
	NEED(!cuMemcpyHtoD(m.va, m.model, size));
	return m;
}

static inline bool memory_is_as_modelled(const struct memory *m)
{
	NEED(!cuMemcpyDtoH(scratch, m->va, m->size));
	return !memcmp(scratch, m->model, m->size);
}

static inline void memory_free(struct memory *m)
{
	NEED(!cuMemFree(m->va));
	free(m->model);
}

/* ---- views: CPU mappings that may be revoked --------------------------------- */

static sigjmp_buf view_gone;

static inline void view_signal(int sig)
{
	siglongjmp(view_gone, sig);
}

static inline void view_catch(void)
{
	NEED(signal(SIGBUS, view_signal) != SIG_ERR);
}

/* Copy whole words, as device memory requires. noinline: siglongjmp() must not change variables of a caller. */
__attribute__((noinline))
static void view_words(volatile uint64_t *to, const volatile uint64_t *from, size_t n)
{
	while (n--)
		*to++ = *from++;
}

/* false: SIGBUS, because the memory was revoked */
static inline bool view_copy(void *to, const void *from, size_t size)
{
	if (sigsetjmp(view_gone, 1))
		return false;
	view_words(to, from, size / sizeof(uint64_t));
	return true;
}

#endif

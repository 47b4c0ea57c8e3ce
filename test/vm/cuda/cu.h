/* SPDX-License-Identifier: MIT */
/* Helpers of the tests of the CUDA driver API. They work with any cuda.h. */
#ifndef TEST_CU_H
#define TEST_CU_H

#include <cuda.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/vm/harness/vmtest.h"

/* IS(call, CUDA_...): fail unless the call returns this result. OK(call): fail unless it returns CUDA_SUCCESS. */
#define IS(call, want) \
	do { \
		int got_ = (call); \
		EXPECT(got_ == (want), "%s gives %d", #call, got_); \
	} while (0)
#define OK(call) IS(call, CUDA_SUCCESS)

static inline bool cu_emulated(void)
{
	return !access("/dev/emugpu", F_OK);
}

/* Make the primary context of a GPU current. Returns the context; NULL if that failed. */
static inline CUcontext cu_start(CUdevice dev)
{
	CUcontext ctx = NULL;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, dev) || cuCtxSetCurrent(ctx))
		return NULL;
	return ctx;
}

/* An attribute of the first GPU; -1 if that failed. */
static inline int cu_attribute(CUdevice_attribute which)
{
	int value;

	return cuDeviceGetAttribute(&value, which, 0) ? -1 : value;
}

static inline unsigned long long cu_buffer_id(CUdeviceptr ptr)
{
	unsigned long long id = 0;

	return cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, ptr) ? 0 : id;
}

/* Run @fn in a child; its exit status is the result of @fn. Returns the wait() status; -1: no child. */
static inline int cu_in_child(int (*fn)(void *), void *arg)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(fn(arg));
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return status;
}

#endif

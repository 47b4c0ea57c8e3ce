// SPDX-License-Identifier: MIT
#include "init.h"

#include "ctx.h"
#include "device.h"
#include "emu/cuda/stream/engine.h"
#include "node.h"
#include "emu/cuda/memory/space.h"
#include "emu/version/version.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum state {
	NEW,
	READY,
	FORKED,	/* in a child of fork(): GPU memory, file and locks belong to the parent */
};

static _Atomic enum state state;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static bool watches_fork;
static pthread_mutex_t init_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lib_mutex = PTHREAD_MUTEX_INITIALIZER;

static bool is_ready(void)
{
	/* pairs with the release in start(), so that the device table is complete */
	return atomic_load_explicit(&state, memory_order_acquire) == READY;
}

CUresult lib_ready(void)
{
	if (!is_ready())
		return CUDA_ERROR_NOT_INITIALIZED;
	return engine_calls_host() ? CUDA_ERROR_NOT_PERMITTED : CUDA_SUCCESS;
}

void lib_lock(void)
{
	pthread_mutex_lock(&lib_mutex);
}

void lib_unlock(void)
{
	pthread_mutex_unlock(&lib_mutex);
}

static void before_fork(void)
{
	pthread_mutex_lock(&init_mutex);
}

static void parent_after_fork(void)
{
	pthread_mutex_unlock(&init_mutex);
}

/* If the parent has not called cuInit(), the child can. */
static void child_after_fork(void)
{
	if (is_ready())
		atomic_store_explicit(&state, FORKED, memory_order_relaxed);
	pthread_mutex_unlock(&init_mutex);
}

static void watch_fork(void)
{
	watches_fork = !pthread_atfork(before_fork, parent_after_fork, child_after_fork);
}

static CUresult start(void)
{
	CUresult err = node_open();

	if (err)
		return err;
	err = device_probe();
	if (err)
		goto err_close;
	err = space_reserve();
	if (err)
		goto err_close;
	ctx_setup();
	engine_setup();
	atomic_store_explicit(&state, READY, memory_order_release);
	return CUDA_SUCCESS;

err_close:
	node_close();
	return err;
}

/* Disables cancellation: a thread cancelled in open() would never release init_mutex. */
static CUresult start_once(void)
{
	CUresult err;
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	pthread_mutex_lock(&init_mutex);
	err = is_ready() ? CUDA_SUCCESS : start();
	pthread_mutex_unlock(&init_mutex);
	pthread_setcancelstate(old, NULL);
	return err;
}

CUresult cuInit(unsigned int flags)
{
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (atomic_load(&state) == FORKED)
		return CUDA_ERROR_NOT_INITIALIZED;
	/* register the fork handlers before taking init_mutex, so that no child inherits a locked init_mutex */
	pthread_once(&fork_once, watch_fork);
	return watches_fork ? start_once() : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = driver_version()->cuda;
	return CUDA_SUCCESS;
}

// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include "lib/sys/loaded.h"
#include "cuda_api.h"
#include "libpeerpin-hook.h"

static struct pp_cuda cuda;	/* written once, under @lock */
static _Atomic(const struct pp_cuda *) found;
static _Atomic unsigned long long searched_at;	/* loads seen by the last search */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Runs in a child of fork(), which may inherit a lock held by a thread of the parent. */
static void start_anew(void)
{
	pthread_mutex_init(&lock, NULL);
}

static void init_once(void)
{
	pthread_atfork(NULL, NULL, start_anew);
}

/*
 * Returns the function behind the hook. The library retains a context for a moment and then releases
 * it. Through the hook, this release would tell the subscribers that all memory is freed.
 */
static void *untold(void *function)
{
	typeof(pp_hook_real) *real = (typeof(pp_hook_real) *)dlsym(RTLD_DEFAULT, "pp_hook_real");

	return real ? real(function) : function;
}

static void resolve_contexts(void *lib, struct pp_cuda *out)
{
	*(void **)&out->context_push = dlsym(lib, "cuCtxPushCurrent_v2");
	*(void **)&out->context_pop = dlsym(lib, "cuCtxPopCurrent_v2");
	*(void **)&out->primary_retain = dlsym(lib, "cuDevicePrimaryCtxRetain");
	*(void **)&out->primary_release =
		untold(dlsym(lib, "cuDevicePrimaryCtxRelease_v2") ?: dlsym(lib, "cuDevicePrimaryCtxRelease"));
	if (out->context_push && out->context_pop && out->primary_retain && out->primary_release)
		*(void **)&out->context_current = dlsym(lib, "cuCtxGetCurrent");
	else
		out->context_current = NULL;
}

static int resolve(void *lib, struct pp_cuda *out)
{
	*(void **)&out->get_attributes = dlsym(lib, "cuPointerGetAttributes");
	*(void **)&out->get_attribute = dlsym(lib, "cuPointerGetAttribute");
	*(void **)&out->set_attribute = dlsym(lib, "cuPointerSetAttribute");
	*(void **)&out->pci_bus_id = dlsym(lib, "cuDeviceGetPCIBusId");
	*(void **)&out->device_attribute = dlsym(lib, "cuDeviceGetAttribute");
	*(void **)&out->get_handle = dlsym(lib, "cuMemGetHandleForAddressRange");
	*(void **)&out->write = dlsym(lib, "cuMemcpyHtoD_v2");
	*(void **)&out->read = dlsym(lib, "cuMemcpyDtoH_v2");
	*(void **)&out->settle = dlsym(lib, "cuCtxSynchronize");
	resolve_contexts(lib, out);
	return out->get_attributes && out->get_attribute && out->set_attribute;
}

/* If several threads found the functions, the first thread publishes them. Release: pairs with pp_cuda(). */
static void publish(const struct pp_cuda *fresh)
{
	pthread_once(&once, init_once);
	pthread_mutex_lock(&lock);
	if (!atomic_load_explicit(&found, memory_order_relaxed)) {
		cuda = *fresh;
		atomic_store_explicit(&found, &cuda, memory_order_release);
	}
	pthread_mutex_unlock(&lock);
}

/*
 * Does not hold @lock over dlopen(): the loader holds its own lock while it runs the
 * constructors of a library, and these may call pp_query(). The handle is never closed:
 * so libcuda stays loaded, and its functions can be called until the process ends.
 */
static void search(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW);
	struct pp_cuda fresh;

	if (!lib)
		return;
	if (resolve(lib, &fresh))
		publish(&fresh);
	else
		dlclose(lib);
}

/*
 * The caller may hold a lock that a constructor of a library waits for, as a caller in libfabric's cache does. So this
 * does not call dlopen() without libcuda. With libcuda, the first call may wait for a constructor.
 */
const struct pp_cuda *pp_cuda(void)
{
	unsigned long long loads = atomic_load_explicit(&searched_at, memory_order_relaxed);
	const struct pp_cuda *known;

	/* acquire: pairs with the release in publish() */
	known = atomic_load_explicit(&found, memory_order_acquire);
	if (known)
		return known;
	if (pp_is_loaded("libcuda.so", &loads))
		search();
	/* store the count from before the search, so that a load during the search causes another search */
	atomic_store_explicit(&searched_at, loads, memory_order_relaxed);
	return atomic_load_explicit(&found, memory_order_acquire);
}

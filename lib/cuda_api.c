// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include "cuda_api.h"

static struct pp_cuda cuda;
static _Atomic(const struct pp_cuda *) found;
static _Atomic unsigned long long searched_at;	/* loads seen by the last search */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int first_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(unsigned long long *)arg = info->dlpi_adds;
	return 1;
}

/* How many objects this process has loaded so far; cheaper than a search. */
static unsigned long long loads(void)
{
	unsigned long long n = 0;

	dl_iterate_phdr(first_object, &n);
	return n;
}

static int resolve(void *lib)
{
	*(void **)&cuda.get_attributes = dlsym(lib, "cuPointerGetAttributes");
	*(void **)&cuda.get_attribute = dlsym(lib, "cuPointerGetAttribute");
	*(void **)&cuda.set_attribute = dlsym(lib, "cuPointerSetAttribute");
	return cuda.get_attributes && cuda.get_attribute && cuda.set_attribute;
}

/*
 * The handle is kept: it holds the library in the process for as long as its
 * functions may be called, which is for ever.
 */
static void search(void)
{
	void *lib;

	if (atomic_load_explicit(&found, memory_order_relaxed))
		return;
	lib = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW);
	if (!lib)
		return;
	if (resolve(lib))	/* release: pairs with the acquire in pp_cuda() */
		atomic_store_explicit(&found, &cuda, memory_order_release);
	else
		dlclose(lib);
}

const struct pp_cuda *pp_cuda(void)
{
	const struct pp_cuda *known;
	unsigned long long now;

	known = atomic_load_explicit(&found, memory_order_acquire);
	if (known)
		return known;
	now = loads();
	if (now == atomic_load_explicit(&searched_at, memory_order_relaxed))
		return NULL;
	pthread_mutex_lock(&lock);
	search();
	pthread_mutex_unlock(&lock);
	/* counted before the search: a load in between is searched for again */
	atomic_store_explicit(&searched_at, now, memory_order_relaxed);
	return atomic_load_explicit(&found, memory_order_acquire);
}

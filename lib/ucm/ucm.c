// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "lib/sys/cancel.h"
#include "lib/sys/debug.h"
#include "lib/sys/loaded.h"
#include "lib/sys/sys.h"
#include "lib/sys/thread.h"
#include "libpeerpin-hook.h"
#include "ranges.h"
#include "ucm.h"

/*
 * ucm_vm_munmap(): calls the handlers of the event "memory is unmapped". Then UCX's registration caches remove the
 * range, of host or GPU memory. The function unmaps nothing.
 *
 * This library does not call ucm_set_external_event(), because UCX would then install no interception of its own.
 * That interception reports most frees of host memory before they happen.
 */
static void (*_Atomic unmapped)(void *addr, size_t length);

static pthread_t notifier;
static atomic_bool watches;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void *notify(void *unused)
{
	struct pp_range ranges[PP_RANGES_BATCH];
	uint32_t count, i;

	while (pp_ranges_wait()) {
		count = pp_ranges_changed(ranges);
		for (i = 0; i < count; i++) {
			unmapped((void *)(uintptr_t)ranges[i].start, pp_range_length(&ranges[i]));
			pp_debug("UCX: reported memory at 0x%llx, %llu bytes", (unsigned long long)ranges[i].start,
				 (unsigned long long)pp_range_length(&ranges[i]));
		}
	}
	return unused;
}

/* Runs before the destructors of libraries, so UCX is whole until the thread has ended. */
static void end(void)
{
	if (!pp_ranges_are_ours())
		return;
	pp_ranges_end();
	pp_thread_join(notifier);
}

static void gone(void *arg, uint64_t addr, uint64_t length)
{
	(void)arg;
	unmapped((void *)(uintptr_t)addr, length);
}

/* 0; -ENOENT: libpeerpin-hook.so.1 is not loaded; or the error of pp_hook_add() */
static int subscribe(void)
{
	typeof(pp_hook_add) *hook_add;

	*(void **)&hook_add = dlsym(RTLD_DEFAULT, "pp_hook_add");
	return hook_add ? hook_add(gone, NULL) : -ENOENT;
}

static int watch_host(void)
{
	int ret = pp_ranges_init();

	ret = ret ? ret : pp_thread_make(&notifier, "peerpin-ucm", notify);
	if (!ret)
		atexit(end);
	return ret;
}

static void begin_host(void)
{
	int ret = watch_host();

	watches = !ret;
	if (ret)
		fprintf(stderr, "libpeerpin-ucm: frees of host memory are not reported to UCX: /dev/peerpin: %s; type: peerpin doctor\n",
			strerror(-ret));
}

/* @error: result of subscribe() */
static void begin_gpu(int error)
{
	if (error == -ENOENT)
		pp_debug("UCX: frees of GPU memory are not reported, because libpeerpin-hook.so.1 is not loaded");
	else if (error)
		fprintf(stderr, "libpeerpin-ucm: frees of GPU memory are not reported to UCX: %s; name libpeerpin-hook.so.1 first in LD_PRELOAD\n",
			strerror(-error));
}

/* The handle is kept, because the thread calls libucm. */
static bool find(void)
{
	unsigned long long loads = 0;
	void *ucm, *function;

	if (!pp_is_loaded("libucm.so", &loads))
		return false;
	ucm = dlopen("libucm.so.0", RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
	function = ucm ? dlsym(ucm, "ucm_vm_munmap") : NULL;
	if (function)
		unmapped = (void (*)(void *, size_t))function;
	return function;
}

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
 * Does not hold @lock over find() and subscribe(), which call the dynamic loader: the loader holds its own lock while it
 * runs the constructors of a library, and these may register memory. So two threads may subscribe. UCX then gets each
 * free of GPU memory twice, and finds nothing the second time.
 */
bool pp_ucm_watches(void)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	static atomic_bool begun;
	int ret;

	if (!begun && find()) {
		ret = subscribe();
		pthread_once(&once, init_once);
		pthread_mutex_lock(&lock);
		if (!begun) {
			begin_host();
			begin_gpu(ret);
			begun = true;
		}
		pthread_mutex_unlock(&lock);
	}
	return pp_ucm_is_watching();
}

bool pp_ucm_is_watching(void)
{
	return watches && pp_ranges_are_ours();
}

// SPDX-License-Identifier: MIT
#include <errno.h>
#include <pthread.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_ext.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "lib/cuda/process.h"
#include "lib/sys/cancel.h"
#include "lib/sys/debug.h"
#include "lib/sys/probe.h"
#include "lib/sys/sys.h"
#include "lib/sys/thread.h"
#include "libpeerpin-fi.h"
#include "fabric.h"
#include "module.h"
#include "subs.h"

static struct fid_mem_monitor monitor;
static struct pp_ctx *ctx;
static struct pp_subs subs;
static pthread_t notifier;
static atomic_bool notifies;
static atomic_bool in_use;	/* between start() and stop(): there is a cache */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- the thread ------------------------------------------------------------------------ */

/*
 * libfabric's notify() takes mm_lock. libfabric holds mm_lock when it calls the monitor, so only this thread
 * notifies. The thread holds no lock of this library while it calls notify().
 */
static void *notify(void *unused)
{
	struct pp_range ranges[PP_SUBS_BATCH];
	uint32_t count, i;

	while (pp_subs_wait(&subs)) {
		do {
			count = pp_subs_changed(&subs, ranges);
			for (i = 0; i < count; i++)
				monitor.import_ops->notify(&monitor, (void *)(uintptr_t)ranges[i].start,
							   pp_range_length(&ranges[i]));
			pp_subs_told(&subs, ranges, count);
		} while (count == PP_SUBS_BATCH);
	}
	return unused;
}

/*
 * Runs before the destructors of libraries, so libfabric is whole until the thread has ended. If exit() is
 * called while the caller holds mm_lock, the thread cannot end: the join gives up after a second.
 *
 * A libfabric that was built with asserts aborts in its destructor if the monitor is still imported, so end() closes the
 * monitor. Exceptions: a cache would call the closed monitor by a null pointer; if the thread has not ended, the caller
 * may hold a lock that fi_close() takes; and in a child of fork() another thread of the parent may have held it.
 */
static void end(void)
{
	if (subs.mark != pp_process_mark())
		return;
	pp_subs_end(&subs);
	if (notifies && !pp_thread_join(notifier))
		return;
	if (!in_use)
		fi_close(&monitor.fid);
}

/* ---- called by libfabric ------------------------------------------------------------------ */

/* libfabric serializes start() and stop(): a cache is added or removed. */
static int start(struct fid_mem_monitor *m)
{
	int ret;

	(void)m;
	in_use = true;	/* before the thread is made: end() must not close the monitor now */
	ret = notifies ? 0 : pp_thread_make(&notifier, "peerpin-fi", notify);
	notifies = in_use = !ret;
	return ret;
}

static void stop(struct fid_mem_monitor *m)
{
	(void)m;
	pp_subs_clear(&subs);
	in_use = false;
}

static int subscribe(struct fid_mem_monitor *m, const void *addr, size_t length)
{
	(void)m;
	return pp_subs_add(&subs, (uintptr_t)addr, length);
}

static void unsubscribe(struct fid_mem_monitor *m, const void *addr, size_t length)
{
	(void)m;
	pp_subs_remove(&subs, (uintptr_t)addr, length);
}

static bool valid(struct fid_mem_monitor *m, const void *addr, size_t length)
{
	(void)m;
	return pp_subs_valid(&subs, (uintptr_t)addr, length);
}

/*
 * libfabric 1.13 to 2.6 have these five functions, and take the monitor only if @size covers all that they call. The
 * headers of a later version may have more functions: @size ends after the last function that is set here, so
 * that such a libfabric refuses the monitor, instead of calling NULL.
 */
static struct fi_ops_mem_monitor monitor_ops = {
	.size = offsetof(struct fi_ops_mem_monitor, valid) + sizeof(monitor_ops.valid),
	.start = start,
	.stop = stop,
	.subscribe = subscribe,
	.unsubscribe = unsubscribe,
	.valid = valid,
};

/* ---- the import ------------------------------------------------------------------------- */

static int open_kernel(void)
{
	int ret = pp_open(&ctx);

	if (ret)
		return ret;
	ret = pp_watch_probe(ctx);
	ret = ret ? ret : pp_subs_init(&subs, ctx);
	if (ret)
		pp_close(ctx);
	return ret;
}

static int bind(const struct pp_fabric *fabric)
{
	struct fid *cache;
	int ret = fabric->open(fabric->version(), "mr_cache", NULL, 0, 0, &cache, NULL);

	if (ret)
		return ret == -FI_ENOSYS ? -EOPNOTSUPP : ret;
	monitor.fid.fclass = FI_CLASS_MEM_MONITOR;
	monitor.export_ops = &monitor_ops;
	ret = fi_import_fid(cache, &monitor.fid, 0);
	fi_close(cache);
	return ret == -FI_EINVAL ? -EOPNOTSUPP : ret;
}

static int import(const struct pp_fabric *fabric)
{
	int ret;

	if (FI_VERSION_LT(fabric->version(), FI_VERSION(1, 14)))
		return -EOPNOTSUPP;
	if (getenv("FI_MR_CACHE_MONITOR"))
		return -EBUSY;
	ret = open_kernel();
	if (ret)
		return ret;
	ret = bind(fabric);
	if (ret) {
		pp_subs_fini(&subs);
		pp_close(ctx);
		return ret;
	}
	atexit(end);
	return 0;
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

static int import_once(const struct pp_fabric *fabric)
{
	static bool imported;	/* under @lock */
	int ret = 0;

	pthread_once(&once, init_once);
	pthread_mutex_lock(&lock);
	if (!imported)
		ret = import(fabric);
	imported = !ret;
	pthread_mutex_unlock(&lock);
	return ret;
}

/* @module: name of a module that keeps its own monitor, or "" */
static void say(int error, const char *module)
{
	static atomic_int said = 1;	/* not a result of an import: the first result is printed */

	if (atomic_exchange(&said, error) == error)
		return;
	if (*module)
		pp_debug("libfabric: %s keeps its own memory monitor", module);
	else
		pp_debug("libfabric: %s", error ? strerror(-error) : "peerpin is the memory monitor");
}

/*
 * Does not hold @lock over pp_fabric_find(), which calls the dynamic loader: the loader holds its own lock while it runs
 * the constructors of a library, and these may call pp_fi_import().
 *
 * Imports even if a module keeps its own monitor, for the providers in libfabric.so.1.
 */
PP_PUBLIC int pp_fi_import(void)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	struct pp_module module = { "" };
	struct pp_fabric fabric;
	int ret = pp_fabric_find(&fabric);

	ret = ret ? ret : import_once(&fabric);
	if (!ret && pp_module_find(&module))
		ret = -EOPNOTSUPP;
	say(ret, module.name);
	return ret;
}

// SPDX-License-Identifier: MIT
/*
 * A libfabric.so.1 that has no provider, and takes a monitor as libfabric does. A libfabric that was built with asserts
 * aborts if a monitor is still imported when it ends.
 */
#include <pthread.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_ext.h>
#include <stddef.h>
#include <unistd.h>
#include "fake_fabric.h"

uint32_t fake_version = FI_VERSION(1, 17);

static struct fid_mem_monitor *imported;

struct fid_mem_monitor *fake_monitor(void)
{
	return imported;
}

static int close_monitor(struct fid *fid)
{
	(void)fid;
	imported = NULL;
	return 0;
}

static struct fi_ops monitor_ops = { .size = sizeof(monitor_ops), .close = close_monitor };

static int import(struct fid *cache, struct fid *monitor, uint64_t flags)
{
	(void)cache, (void)flags;
	if (imported)
		return -FI_EBUSY;
	imported = (struct fid_mem_monitor *)((char *)monitor - offsetof(struct fid_mem_monitor, fid));
	imported->fid.ops = &monitor_ops;
	return 0;
}

static int close_cache(struct fid *fid)
{
	(void)fid;
	return 0;
}

static struct fi_ops cache_ops = { .size = sizeof(cache_ops), .close = close_cache, .bind = import };

int fi_open(uint32_t version, const char *name, void *attr, size_t attr_len, uint64_t flags, struct fid **out,
	    void *context)
{
	static struct fid cache = { .ops = &cache_ops };

	(void)version, (void)name, (void)attr, (void)attr_len, (void)flags, (void)context;
	pthread_testcancel();	/* libfabric may wait here, so this is a cancellation point */
	*out = &cache;
	return 0;
}

int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **out, void *context)
{
	(void)attr, (void)out, (void)context;
	return -FI_ENODATA;
}

uint32_t fi_version(void)
{
	return fake_version;
}

static void __attribute__((destructor)) end(void)
{
	if (imported)
		_exit(FAKE_LEFT);
}

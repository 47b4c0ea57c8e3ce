// SPDX-License-Identifier: MIT
/* A registration cache of dma-bufs that the GPU's driver exports. */
#include <linux/types.h>
#include <peerpin.h>
#include <stdlib.h>
#include <unistd.h>
#include "allocation.h"
#include "cuda_api.h"
#include "query.h"
#include "regcache.h"
#include "sys.h"
#include "watch.h"
#include "why.h"

/** struct dmabuf - what an entry's @reg points to. @pub: first, as the interface promises */
struct dmabuf {
	struct pp_dmabuf pub;
	uint64_t at;
	uint64_t buffer_id;
};

static int explain(int error, struct pp_why *why)
{
	switch (error) {
	case PP_CU_SUCCESS:
		return 0;
	case PP_CU_OUT_OF_MEMORY:
		return pp_refuse(why, PEERPIN_REASON_NO_BAR1, -ENOMEM);
	case PP_CU_NOT_SUPPORTED:
		return pp_refuse(why, PEERPIN_REASON_NO_API, -EOPNOTSUPP);
	case PP_CU_INVALID_VALUE:
		return pp_refuse(why, PEERPIN_REASON_VENDOR_REFUSED, -EINVAL);
	default:
		return pp_refuse(why, PEERPIN_REASON_VENDOR_ERROR, -EIO);
	}
}

static int export(struct dmabuf *d, struct pp_why *why)
{
	return explain(pp_cuda()->get_handle(&d->pub.fd, d->pub.addr, d->pub.length, PP_CU_DMA_BUF_FD, 0), why);
}

/* Ids are never used twice: the same one after the export means that it was this allocation's. */
static int export_verified(struct dmabuf *d, struct pp_why *why)
{
	int ret = export(d, why);

	if (ret || pp_query_buffer_id(d->at) == d->buffer_id)
		return ret;
	pp_sys_close(d->pub.fd);
	return pp_refuse(why, PEERPIN_REASON_REVOKED, -ESTALE);
}

static int make(uint64_t addr, uint64_t length, struct dmabuf *d, struct pp_why *why)
{
	uint64_t mask = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	struct pp_mem mem;
	int ret;

	pp_query((const void *)(uintptr_t)addr, &mem);
	if (mem.kind == PP_MEM_HOST)
		return pp_refuse(why, PEERPIN_REASON_NOT_GPU, -EOPNOTSUPP);
	ret = pp_allocation_prepare(&mem, addr, length, why);
	if (ret)
		return ret;
	d->at = addr;
	d->buffer_id = mem.buffer_id;
	d->pub.addr = addr & ~mask;
	d->pub.length = ((addr + length + mask) & ~mask) - d->pub.addr;
	return export_verified(d, why);
}

static int dmabuf_pin(void *arg, uint64_t addr, uint64_t length, void **reg, struct pp_why *why)
{
	struct dmabuf *d = malloc(sizeof(*d));
	int ret;

	(void)arg;
	if (!d)
		return -ENOMEM;
	ret = make(addr, length, d, why);
	if (ret)
		free(d);
	else
		*reg = d;
	return ret;
}

static void dmabuf_unpin(void *arg, void *reg)
{
	struct dmabuf *d = reg;

	(void)arg;
	pp_sys_close(d->pub.fd);
	free(d);
}

static int dmabuf_valid(void *arg, void *reg)
{
	const struct dmabuf *d = reg;

	(void)arg;
	return pp_query_buffer_id(d->at) == d->buffer_id;
}

static int dmabuf_grow(void *arg, uint64_t *addr, uint64_t *length)
{
	struct pp_mem mem;

	(void)arg;
	pp_query((const void *)(uintptr_t)*addr, &mem);
	if (mem.kind == PP_MEM_GPU)
		pp_allocation_grow(&mem, addr, length);
	return 1;
}

static const struct pp_cache_ops told_ops = { dmabuf_pin, dmabuf_unpin, NULL, NULL, dmabuf_grow };
static const struct pp_cache_ops tag_ops = { dmabuf_pin, dmabuf_unpin, NULL, dmabuf_valid, dmabuf_grow };

/* What is asked for, or what BEST is here; a negative errno */
static int choose(const struct pp_cache_attr *attr)
{
	uint32_t watch = attr ? attr->watch : PP_WATCH_BEST;

	if (watch > PP_WATCH_NONE)
		return -EINVAL;
	if (watch == PP_WATCH_EPOCH || (attr && attr->pin_flags) || !pp_cuda() || !pp_cuda()->get_handle)
		return -EOPNOTSUPP;
	if (watch == PP_WATCH_BEST)
		return pp_watch_has_hook() ? PP_WATCH_HOOK : PP_WATCH_TAG;
	return watch;
}

PP_PUBLIC int pp_cache_create_dmabuf(const struct pp_cache_attr *attr, struct pp_cache **out)
{
	PP_KEEP_ERRNO;
	int watch = choose(attr), ret;

	if (watch < 0)
		return watch;
	ret = pp_cache_make(watch == PP_WATCH_TAG ? &tag_ops : &told_ops, NULL, attr, out);
	return ret ? ret : pp_watch_begin(out, watch == PP_WATCH_HOOK);
}

// SPDX-License-Identifier: MIT
/* A registration cache of dma-bufs that the GPU's driver exports */
#include <inttypes.h>
#include <stdlib.h>
#include "lib/cuda/dmabuf.h"
#include "lib/sys/debug.h"
#include "regcache.h"
#include "lib/sys/sys.h"
#include "watch.h"

static void say(uint64_t addr, uint64_t length, int error, const struct pp_export *d, const struct pp_why *why)
{
	char text[512];

	if (!pp_debugs())
		return;
	if (error) {
		pp_explain(text, sizeof(text), error, why);
		pp_debug("0x%" PRIx64 ", %" PRIu64 " bytes: no dma-buf: %s", addr, length, text);
		return;
	}
	pp_debug("0x%" PRIx64 ", %" PRIu64 " bytes: a dma-buf of the GPU's driver, descriptor %d", addr, length, d->pub.fd);
}

static int dmabuf_pin(void *arg, uint64_t addr, uint64_t length, void **reg, struct pp_why *why)
{
	struct pp_export *d;
	int ret = pp_export_make(addr, length, PP_MAPPING_BEST, &d, why);

	(void)arg;
	say(addr, length, ret, d, why);
	if (!ret)
		*reg = d;
	return ret;
}

static void dmabuf_unpin(void *arg, void *reg)
{
	struct pp_export *d = reg;

	(void)arg;
	pp_sys_close(d->pub.fd);
	free(d);
}

static int dmabuf_valid(void *arg, void *reg)
{
	(void)arg;
	return pp_export_is_valid(reg);
}

static const struct pp_cache_ops told_ops = { dmabuf_pin, dmabuf_unpin, NULL, NULL, pp_export_grow };
static const struct pp_cache_ops tag_ops = { dmabuf_pin, dmabuf_unpin, NULL, dmabuf_valid, pp_export_grow };

static int make(uint32_t watch, const struct pp_cache_attr *attr, struct pp_cache **out)
{
	int ret = -EOPNOTSUPP;

	if (watch == PP_WATCH_BEST || watch == PP_WATCH_HOOK)
		ret = pp_watch_make(&told_ops, attr, out);
	if (ret != -EOPNOTSUPP || watch == PP_WATCH_HOOK)
		return ret;
	return pp_cache_make(watch == PP_WATCH_NONE ? &told_ops : &tag_ops, NULL, attr, out);
}

PP_PUBLIC int pp_cache_create_dmabuf(const struct pp_cache_attr *attr, struct pp_cache **out)
{
	PP_KEEP_ERRNO;
	uint32_t watch = attr ? attr->watch : PP_WATCH_BEST;

	if (!out || watch > PP_WATCH_NONE)
		return -EINVAL;
	if (watch == PP_WATCH_EPOCH || (attr && attr->pin_flags) || !pp_export_can())
		return -EOPNOTSUPP;
	return make(watch, attr, out);
}

// SPDX-License-Identifier: MIT
/* A cache of views: GPU memory mapped for the CPU through the dma-bufs of its driver. */
#include <linux/types.h>
#include <peerpin.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "lib/cache/cache.h"
#include "lib/cuda/dmabuf.h"
#include "lib/cuda/process.h"
#include "lib/cache/regcache.h"
#include "lib/sys/sys.h"
#include "view.h"
#include "lib/cache/watch.h"
#include "lib/cuda/why.h"

/* The kernel's internal ENOTSUPP, which some drivers return to user space instead of EOPNOTSUPP */
enum { KERNEL_ENOTSUPP = 524 };

/** struct view - @reg of an entry points to this, so @pub is the first field */
struct view {
	struct pp_view pub;
	struct pp_export *of;	/* its descriptor is closed */
};

static int map(const struct pp_dmabuf *d, void **out, struct pp_why *why)
{
	int ret = pp_sys_map_at(d->fd, 0, d->length, PROT_READ | PROT_WRITE, out);

	if (ret == -KERNEL_ENOTSUPP || ret == -ENODEV || ret == -EOPNOTSUPP)
		return pp_refuse(why, PEERPIN_REASON_NO_API, -ENODEV);
	return ret ? pp_refuse(why, PEERPIN_REASON_VENDOR_ERROR, ret) : 0;
}

/* The mapping holds a reference to the dma-buf, which holds the memory. So the descriptor can be closed. */
static int make(uint64_t addr, uint64_t length, struct view *view, struct pp_why *why)
{
	struct pp_export *e;
	int ret = pp_export_make(addr, length, PP_MAPPING_BEST, &e, why);

	if (ret)
		return ret;
	*view = (struct view){
		.pub = { .addr = e->pub.addr, .length = e->pub.length },
		.of = e,
	};
	ret = map(&e->pub, &view->pub.at, why);
	pp_sys_close(e->pub.fd);
	if (ret)
		free(e);
	return ret;
}

static int view_pin(void *arg, uint64_t addr, uint64_t length, void **reg, struct pp_why *why)
{
	struct view *view = malloc(sizeof(*view));
	int ret;

	(void)arg;
	if (!view)
		return -ENOMEM;
	ret = make(addr, length, view, why);
	if (ret)
		free(view);
	else
		*reg = view;
	return ret;
}

static void view_unpin(void *arg, void *reg)
{
	struct view *view = reg;

	(void)arg;
	pp_sys_unmap(view->pub.at, view->pub.length);
	free(view->of);
	free(view);
}

static int view_valid(void *arg, void *reg)
{
	const struct view *view = reg;

	(void)arg;
	return pp_export_is_valid(view->of);
}

static const struct pp_cache_ops told_ops = { view_pin, view_unpin, NULL, NULL, pp_export_grow };
static const struct pp_cache_ops tag_ops = { view_pin, view_unpin, NULL, view_valid, pp_export_grow };

int pp_view_check(const struct pp_cache *cache)
{
	if (cache->ops.pin != view_pin)
		return -EINVAL;
	return pp_process_is(cache->mark) ? 0 : -EACCES;
}

/* Uses the hook if it is loaded: the hook reports a free before it happens, so no view keeps freed memory. */
static int make_cache(const struct pp_cache_attr *attr, struct pp_cache **out)
{
	int ret = pp_watch_make(&told_ops, attr, out);

	/* without the hook, or if it was loaded too late, each hit compares CUDA's id */
	return ret == -EOPNOTSUPP ? pp_cache_make(&tag_ops, NULL, attr, out) : ret;
}

PP_PUBLIC int pp_cache_create_view(const struct pp_cache_attr *attr, struct pp_cache **out)
{
	PP_KEEP_ERRNO;
	int ret;

	if (!out)
		return -EINVAL;
	if (attr && (attr->pin_flags || attr->watch))
		return -EOPNOTSUPP;
	ret = make_cache(attr, out);
	if (!ret)
		pp_cache_set_no_files(*out);
	return ret;
}

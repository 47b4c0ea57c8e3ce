// SPDX-License-Identifier: MIT
#include <errno.h>
#include <linux/types.h>
#include <peerpin.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "dmabuf.h"
#include "map.h"
#include "pin.h"
#include "public.h"
#include "refuse.h"
#include "lib/sys/sys.h"

static uint64_t page_mask(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE) - 1;
}

uint64_t gdr_view_addr(const struct gdr_handle *h)
{
	return h->addr & ~page_mask();
}

static gdr_mapping_type_t type_of(uint32_t caching)
{
	switch (caching) {
	case PEERPIN_CACHING_CACHED:
		return GDR_MAPPING_TYPE_CACHING;
	case PEERPIN_CACHING_COMBINED:
		return GDR_MAPPING_TYPE_WC;
	case PEERPIN_CACHING_UNCACHED:
		return GDR_MAPPING_TYPE_DEVICE;
	default:
		return GDR_MAPPING_TYPE_NONE;
	}
}

/*
 * The flags of a pin that can be mapped with the requested type. Memory of a coherent GPU is cached by the link to
 * the CPU and write-combined by BAR1: a pin has one type, but the pin can be replaced. All other requests get
 * the pin that the program asked for.
 */
static uint32_t flags_for(const struct gdr_handle *h, int flags)
{
	if (flags != GDR_MAP_FLAG_REQ_WC_MAPPING)
		return h->asked;
	if (h->caching != PEERPIN_CACHING_CACHED || !(h->flags & PEERPIN_PIN_PERSISTENT))
		return h->flags;
	return h->flags | PEERPIN_PIN_PCIE;
}

/* A dma-buf has one type, as in gdrcopy. */
static int choose_pin(struct gdr_handle *h, int flags)
{
	uint32_t wanted = flags_for(h, flags);

	return h->fd >= 0 || wanted == h->flags ? 0 : gdr_pin_again(h, wanted);
}

/* A flag that requests a type has the value of that type. */
static int check_type(gdr_mapping_type_t type, int flags)
{
	if (type == GDR_MAPPING_TYPE_NONE)
		return gdr_refuse(-EOPNOTSUPP, "the CPU cannot map this memory");
	if (flags != GDR_MAP_FLAG_DEFAULT && flags != (int)type)
		return gdr_refuse(-EOPNOTSUPP, "the memory can be mapped with type %d only, not with type %d", (int)type,
				  flags);
	return 0;
}

/* The mapping begins at the page that gdr_get_info() names. It contains @size bytes from the pinned address on. */
static int view_begin(struct gdr_handle *h, size_t size)
{
	uint64_t mask = page_mask(), va = gdr_view_addr(h), offset = va - h->region.addr;
	uint64_t room = h->region.length - offset, end;
	int ret;

	if (!size || size > room)
		return gdr_refuse(-EINVAL, "%zu bytes cannot be mapped: the pin has %llu", size, (unsigned long long)room);
	end = (h->addr - va + size + mask) & ~mask;
	h->view_length = end < room ? end : room;
	if (h->fd >= 0)
		ret = gdr_dmabuf_map(h, offset, h->view_length, &h->view);
	else
		ret = pp_region_map(h->owner->ctx, &h->region, offset, h->view_length, PROT_READ | PROT_WRITE, &h->view);
	return ret ? gdr_refuse(ret, "%zu bytes cannot be mapped: %s", size, strerror(-ret)) : 0;
}

static int map_locked(struct gdr_handle *h, void **va, size_t size, int flags)
{
	gdr_mapping_type_t type;
	int ret;

	if (flags < GDR_MAP_FLAG_DEFAULT || flags > GDR_MAP_FLAG_REQ_DEVICE_MAPPING)
		return gdr_refuse(-EINVAL, "gdr_map_v2() has no flags 0x%x", flags);
	if (atomic_load(&h->type) != GDR_MAPPING_TYPE_NONE)
		return gdr_refuse(-EAGAIN, "the handle is mapped already");
	ret = choose_pin(h, flags);
	if (ret)
		return ret;
	type = type_of(h->caching);
	ret = check_type(type, flags);
	if (ret)
		return ret;
	ret = view_begin(h, size);
	if (ret)
		return ret;
	*va = h->view;
	atomic_store(&h->type, type);
	return 0;
}

GDR_PUBLIC int gdr_map_v2(gdr_t g, gdr_mh_t handle, void **ptr_va, size_t size, int flags)
{
	PP_KEEP_ERRNO;
	struct gdr_handle *h;
	int ret = ptr_va ? gdr_handle_lock(g, handle, &h) : gdr_null("the address of the result");

	if (ret)
		return -ret;
	ret = map_locked(h, ptr_va, size, flags);
	gdr_handle_unlock(h);
	return -ret;
}

GDR_PUBLIC int gdr_map(gdr_t g, gdr_mh_t handle, void **va, size_t size)
{
	return gdr_map_v2(g, handle, va, size, GDR_MAP_FLAG_DEFAULT);
}

void gdr_view_end(struct gdr_handle *h)
{
	if (atomic_exchange(&h->type, GDR_MAPPING_TYPE_NONE) != GDR_MAPPING_TYPE_NONE)
		pp_sys_unmap(h->view, h->view_length);
}

/* @size is ignored: the whole mapping is removed. */
GDR_PUBLIC int gdr_unmap(gdr_t g, gdr_mh_t handle, void *va, size_t size)
{
	PP_KEEP_ERRNO;
	struct gdr_handle *h;
	bool is_there;
	int ret = gdr_handle_lock(g, handle, &h);

	(void)size;
	if (ret)
		return -ret;
	is_there = atomic_load(&h->type) != GDR_MAPPING_TYPE_NONE && va == h->view;
	if (is_there)
		gdr_view_end(h);
	gdr_handle_unlock(h);
	return is_there ? 0 : gdr_refuse(EINVAL, "the handle is not mapped at %p", va);
}

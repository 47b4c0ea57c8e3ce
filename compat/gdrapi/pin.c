// SPDX-License-Identifier: MIT
#include <linux/types.h>
#include <peerpin.h>
#include <string.h>
#include "dmabuf.h"
#include "map.h"
#include "pin.h"
#include "public.h"
#include "refuse.h"
#include "lib/sys/cancel.h"
#include "lib/sys/sys.h"

/* If peerpin_nv is not loaded, tries the provider of integrated GPUs. */
static int pin_ioctl(int fd, struct peerpin_pin *pin)
{
	int ret = pp_sys_ioctl(fd, PEERPIN_IOC_PIN, pin);

	if (!ret || pin->out_reason != PEERPIN_REASON_NO_PROVIDER)
		return ret;
	pin->provider = PEERPIN_PROVIDER_TEGRA;
	return pp_sys_ioctl(fd, PEERPIN_IOC_PIN, pin);
}

/* Tries to pin address 0, which always fails. The error -EOPNOTSUPP means: no pins of this kind. */
static bool can_pin(const struct gdr *g, uint32_t flags)
{
	struct peerpin_pin pin = {
		.size = sizeof(pin),
		.flags = flags,
		.length = 1,
		.provider = PEERPIN_PROVIDER_NV,
	};

	return pp_sys_ioctl(g->fd, PEERPIN_IOC_PIN, &pin) != -EOPNOTSUPP;
}

bool gdr_pin_can_persist(const struct gdr *g)
{
	return can_pin(g, PEERPIN_PIN_PERSISTENT);
}

bool gdr_pin_can_force_pcie(const struct gdr *g)
{
	return g->flags & PEERPIN_PIN_PERSISTENT && can_pin(g, PEERPIN_PIN_PERSISTENT | PEERPIN_PIN_PCIE);
}

static int refuse(const struct peerpin_pin *pin, int error)
{
	struct pp_why why = {
		.reason = pin->out_reason,
		.needed = pin->out_needed,
		.available = pin->out_available,
	};
	char text[256];

	pp_explain(text, sizeof(text), error, &why);
	return gdr_refuse(error, "%llu bytes at 0x%llx cannot be pinned%s: %s", pin->length, pin->addr,
			  pin->p2p_token || pin->va_space_token ? " with these tokens" : "", text);
}

static void handle_fill(struct gdr_handle *h, const struct peerpin_pin *pin)
{
	h->addr = pin->addr;
	h->flags = pin->flags;
	h->region = (struct pp_region) {
		.addr = pin->out_addr,
		.length = pin->out_length,
		.page_size = pin->out_page_size,
		.id = pin->out_region,
		.slot = pin->out_slot,
		.epoch = pin->out_epoch,
		.provider = pin->out_provider,
	};
	h->fd = -1;
	h->caching = pin->out_caching;
}

static int pin_region(struct gdr *g, struct gdr_handle *h, struct peerpin_pin pin)
{
	int ret = pin_ioctl(g->fd, &pin);

	if (ret)
		return refuse(&pin, ret);
	handle_fill(h, &pin);
	return 0;
}

static int handle_pin(struct gdr *g, struct gdr_handle *h, const struct peerpin_pin *pin)
{
	uint64_t start = pp_now_ns();
	int ret;

	pthread_mutex_lock(&h->lock);
	if (g->ctx)
		ret = pin_region(g, h, *pin);
	else
		ret = gdr_dmabuf_pin(h, pin->addr, pin->length, pin->flags & PEERPIN_PIN_PCIE ? GDR_PIN_FLAG_FORCE_PCIE : 0);
	if (!ret) {
		h->pin_ns = pp_now_ns() - start;
		h->asked = pin->flags;
		h->owner = g;
		atomic_fetch_add(&h->times, 1);
	}
	pthread_mutex_unlock(&h->lock);
	return ret;
}

/*
 * With the right tokens a process could pin another process's memory. So the kernel
 * returns -EPERM to unprivileged processes, and their tokens are ignored here. A
 * privileged caller's tokens must be right. The pin that is mapped is made without
 * tokens, so it is always memory of this process.
 */
static int check_tokens(const struct gdr *g, const struct peerpin_pin *request, uint64_t p2p_token,
			uint32_t va_space)
{
	struct peerpin_pin pin = *request;
	int ret;

	if (!g->ctx || (!p2p_token && !va_space))
		return 0;
	pin.flags = 0;
	pin.p2p_token = p2p_token;
	pin.va_space_token = va_space;
	ret = pin_ioctl(g->fd, &pin);
	if (!ret)
		return pp_unpin(g->ctx, &(struct pp_region) { .id = pin.out_region });
	return ret == -EPERM ? 0 : refuse(&pin, ret);
}

static int pin(struct gdr *g, const struct peerpin_pin *request, gdr_mh_t *out)
{
	struct gdr_handle *h = gdr_handle_get(g);
	int ret;

	if (!h)
		return gdr_refuse(-ENOMEM, "no memory for a handle");
	ret = handle_pin(g, h, request);
	if (ret)
		gdr_handle_put(g, h);
	else
		*out = gdr_handle_name(h);
	return ret;
}

static int pin_buffer(struct gdr *g, unsigned long addr, size_t size, uint64_t p2p_token, uint32_t va_space,
		      uint32_t flags, gdr_mh_t *handle)
{
	PP_NO_CANCEL;
	struct peerpin_pin request = {
		.size = sizeof(request),
		.addr = addr,
		.length = size,
		.provider = PEERPIN_PROVIDER_NV,
	};
	int ret = handle ? gdr_check(g) : gdr_null("handle");

	if (ret)
		return -ret;
	if (!addr)
		return gdr_refuse(EINVAL, "the address is 0");
	request.flags = g->flags;
	if (flags & GDR_PIN_FLAG_FORCE_PCIE) {
		if (!(g->flags & PEERPIN_PIN_PERSISTENT))
			return gdr_refuse(EINVAL, "GDR_PIN_FLAG_FORCE_PCIE needs persistent pins");
		request.flags |= PEERPIN_PIN_PCIE;
	}
	ret = check_tokens(g, &request, p2p_token, va_space);
	return ret ? -ret : -pin(g, &request, handle);
}

GDR_PUBLIC int gdr_pin_buffer(gdr_t g, unsigned long addr, size_t size, uint64_t p2p_token,
			      uint32_t va_space, gdr_mh_t *handle)
{
	PP_KEEP_ERRNO;

	return pin_buffer(g, addr, size, p2p_token, va_space, GDR_PIN_FLAG_DEFAULT, handle);
}

GDR_PUBLIC int gdr_pin_buffer_v2(gdr_t g, unsigned long addr, size_t size, uint32_t flags,
				 gdr_mh_t *handle)
{
	PP_KEEP_ERRNO;

	if (flags & ~(uint32_t)GDR_PIN_FLAG_FORCE_PCIE)
		return gdr_refuse(EINVAL, "gdr_pin_buffer_v2() has no flags 0x%x", flags);
	return pin_buffer(g, addr, size, 0, 0, flags, handle);
}

int gdr_pin_again(struct gdr_handle *h, uint32_t flags)
{
	const struct peerpin_pin pin = {
		.size = sizeof(pin),
		.addr = h->addr,
		.length = h->region.addr + h->region.length - h->addr,
		.provider = h->region.provider,
		.flags = flags,
	};
	struct pp_region old = h->region;
	int ret = pin_region(h->owner, h, pin);

	if (ret)
		return ret;
	/* The handle has the new pin already. No handle names the old pin any more, so it can only end with the file. */
	ret = pp_unpin(h->owner->ctx, &old);
	if (ret)
		gdr_refuse(ret, "%llu bytes at 0x%llx cannot be unpinned and stay pinned until gdr_close(): %s",
			   (unsigned long long)old.length, (unsigned long long)old.addr, strerror(-ret));
	return 0;
}

int gdr_pin_end(struct gdr_handle *h)
{
	struct gdr *g = h->owner;

	gdr_view_end(h);
	h->owner = NULL;
	if (g->ctx)
		return pp_unpin(g->ctx, &h->region);
	pp_sys_close(h->fd);
	return 0;
}

GDR_PUBLIC int gdr_unpin_buffer(gdr_t g, gdr_mh_t handle)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	struct gdr_handle *h;
	int ret = gdr_handle_lock(g, handle, &h);

	if (ret)
		return -ret;
	ret = gdr_pin_end(h);
	gdr_handle_unlock(h);
	gdr_handle_put(g, h);
	return -ret;
}

GDR_PUBLIC int gdr_get_callback_flag(gdr_t g, gdr_mh_t handle, int *flag)
{
	PP_KEEP_ERRNO;
	struct gdr_handle *h;
	int ret = flag ? gdr_handle_lock(g, handle, &h) : gdr_null("flag");

	if (ret)
		return -ret;
	*flag = g->ctx && !pp_region_valid(g->ctx, &h->region);	/* a dma-buf keeps freed memory */
	gdr_handle_unlock(h);
	return 0;
}

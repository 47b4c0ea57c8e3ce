// SPDX-License-Identifier: MIT
#include <linux/types.h>
#include <peerpin.h>
#include <stdlib.h>
#include <string.h>
#include "dmabuf.h"
#include "pin.h"
#include "lib/cuda/process.h"
#include "lib/sys/cancel.h"
#include "public.h"
#include "refuse.h"

/* secure_getenv(): the caller of a setuid program must not choose what happens to memory of the program. */
static bool may_persist(void)
{
	const char *value = secure_getenv("PEERPIN_GDR_PERSISTENT");

	return !value || strcmp(value, "0");
}

static bool must_use_dmabuf(void)
{
	const char *value = secure_getenv("GDRCOPY_USE_DMABUF_MMAP");

	return value && !strcmp(value, "1");
}

/* Tries dma-bufs if peerpin.ko is not there. Then the error is that of /dev/peerpin. */
static int open_back_end(struct gdr *g)
{
	int ret;

	if (must_use_dmabuf())
		return gdr_dmabuf_open();
	ret = pp_open(&g->ctx);
	if (!ret)
		return 0;
	gdr_refuse(ret, "/dev/peerpin: %s; type: peerpin doctor", strerror(-ret));
	return gdr_dmabuf_open() ? ret : 0;
}

static int open_gdr(struct gdr *g)
{
	int ret = open_back_end(g);

	if (ret)
		return ret;
	/* libgdrapi.so has its own copy of process.c, so its mark is not the mark that pp_open() made */
	g->mark = pp_process_mark();
	if (!g->mark) {
		pp_close(g->ctx);
		return -ENOMEM;
	}
	g->fd = g->ctx ? pp_fd(g->ctx) : -1;
	g->self = g;
	pthread_mutex_init(&g->lock, NULL);
	if (!g->ctx || (may_persist() && gdr_pin_can_persist(g)))
		g->flags = PEERPIN_PIN_PERSISTENT;
	return 0;
}

GDR_PUBLIC gdr_t gdr_open(void)
{
	PP_NO_CANCEL;
	struct gdr *g = calloc(1, sizeof(*g));
	int ret = g ? open_gdr(g) : gdr_refuse(-ENOMEM, "no memory for the handle");

	if (!ret)
		return g;
	free(g);
	errno = -ret;
	return NULL;
}

/* In a child of fork(): a thread of the parent may have held a lock, so this takes none. */
static int handle_forget(struct gdr_handle *h)
{
	if (h->fd >= 0)
		pp_sys_close(h->fd);
	return 0;
}

/* In a child of fork() this only closes the child's descriptors. The parent's pins stay. */
GDR_PUBLIC int gdr_close(gdr_t g)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	int ret = gdr_check(g);

	if (ret == -EINVAL)
		return EINVAL;
	ret = gdr_handles_end(g, ret ? handle_forget : gdr_pin_end);
	pp_close(g->ctx);
	g->self = NULL;
	free(g);
	return -ret;
}

GDR_PUBLIC void gdr_runtime_get_version(int *major, int *minor)
{
	*major = GDR_API_MAJOR_VERSION;
	*minor = GDR_API_MINOR_VERSION;
}

GDR_PUBLIC int gdr_driver_get_version(gdr_t g, int *major, int *minor)
{
	int ret = major && minor ? gdr_check(g) : gdr_null("major or minor");

	if (ret)
		return -ret;
	gdr_runtime_get_version(major, minor);
	return 0;
}

GDR_PUBLIC int gdr_get_attribute(gdr_t g, gdr_attr_t attr, int *v)
{
	int ret = v ? gdr_check(g) : gdr_null("v");

	if (ret)
		return -ret;
	switch (attr) {
	case GDR_ATTR_USE_PERSISTENT_MAPPING:
		*v = !!(g->flags & PEERPIN_PIN_PERSISTENT);
		return 0;
	case GDR_ATTR_SUPPORT_PIN_FLAG_FORCE_PCIE:
		*v = !g->ctx || gdr_pin_can_force_pcie(g);
		return 0;
	case GDR_ATTR_USING_DMA_BUF_MMAP:
		*v = !g->ctx;
		return 0;
	default:
		return gdr_refuse(EINVAL, "no attribute has the number %d", (int)attr);
	}
}

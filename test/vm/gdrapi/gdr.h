/* SPDX-License-Identifier: MIT */
/* For the tests of libgdrapi: GPU memory that is pinned and mapped by the public calls. */
#ifndef TEST_GDR_H
#define TEST_GDR_H

#include <gdrapi.h>
#include <sys/mman.h>

#include "test/vm/cuda/cu.h"
#include "test/vm/core/view.h"

enum {
	GPU_PAGE = 64 << 10,
};

struct mapped {
	gdr_t g;
	gdr_mh_t mh;
	CUdeviceptr gpu;	/* the pinned GPU address */
	unsigned char *view;	/* the mapping; NULL: gdr_map() failed */
	size_t size;
};

/* Fill and wait: cuMemsetD8() returns before it is done. */
static inline CUresult gdr_fill(CUdeviceptr gpu, unsigned char byte, size_t size)
{
	CUresult ret = cuMemsetD8(gpu, byte, size);

	return ret ? ret : cuCtxSynchronize();
}

/* Pin and map @size bytes. Returns 0 or the error of the failed call. */
static inline int gdr_get(gdr_t g, CUdeviceptr gpu, size_t size, struct mapped *m)
{
	void *view = NULL;
	int ret;

	*m = (struct mapped) { .g = g, .gpu = gpu, .size = size };
	ret = gdr_pin_buffer(g, gpu, size, 0, 0, &m->mh);
	if (ret)
		return ret;
	ret = gdr_map(g, m->mh, &view, size);
	m->view = view;
	if (ret)
		gdr_unpin_buffer(g, m->mh);
	return ret;
}

static inline int gdr_put(const struct mapped *m)
{
	int ret = gdr_unmap(m->g, m->mh, m->view, m->size);

	return ret ? ret : gdr_unpin_buffer(m->g, m->mh);
}

/* A handle with revocable pins, which end when their memory is freed. */
static inline gdr_t gdr_open_revocable(void)
{
	gdr_t g;

	setenv("PEERPIN_GDR_PERSISTENT", "0", 1);
	g = gdr_open();
	unsetenv("PEERPIN_GDR_PERSISTENT");
	return g;
}

/* Number of all pins of the emulated GPU driver. */
static inline unsigned int pins_left(int gpu)
{
	struct emugpu_test t;

	return emu_counts(gpu, &t) ? ~0u : t.counts.out_pins;
}

#endif

/* SPDX-License-Identifier: MIT */
/* What the tests of libgdrapi share: GPU memory, pinned and mapped, by its public calls. */
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
	CUdeviceptr gpu;	/* what was pinned */
	unsigned char *view;	/* NULL: it could not be */
	size_t size;
};

/* cuMemsetD8() returns before it is done. */
static inline CUresult gdr_fill(CUdeviceptr gpu, unsigned char byte, size_t size)
{
	CUresult ret = cuMemsetD8(gpu, byte, size);

	return ret ? ret : cuCtxSynchronize();
}

/* 0 or what failed answers */
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

/* One whose pins end with their memory */
static inline gdr_t gdr_open_revocable(void)
{
	gdr_t g;

	setenv("PEERPIN_GDR_PERSISTENT", "0", 1);
	g = gdr_open();
	unsetenv("PEERPIN_GDR_PERSISTENT");
	return g;
}

/* What the emulated driver has pinned for anybody */
static inline unsigned int pins_left(int gpu)
{
	struct emugpu_test t;

	return emu_counts(gpu, &t) ? ~0u : t.counts.out_pins;
}

#endif

// SPDX-License-Identifier: MIT
/* MRs of the emulated RDMA adapter, while each allocation fails in turn */
#include "fail.h"
#include "test/vm/rdma/rdma.h"

static const uint64_t AT = 0x3000000000;	/* no address of CUDA */

SETUP(adapter_is_there)
{
	EXPECT(cu_start(0), "no GPU");
	loop_start();
}

static int dereg(struct memory *m)
{
	int err = m->mr ? -ibv_dereg_mr(m->mr) : 0;

	m->mr = NULL;
	return err;
}

/* Memory, and the descriptor of its dma-buf; -1 for a pointer */
static int memory_new(struct memory *m, enum way way, int *fd)
{
	*m = (struct memory){ 0 };
	*fd = -1;
	if (cuMemAlloc(&m->at, BLOCK))
		return -ENOMEM;
	if (way == BY_POINTER)
		return 0;
	*fd = memory_dmabuf(m, way, 0, BLOCK);
	return *fd < 0 ? *fd : 0;
}

static int reg(struct memory *m, int fd)
{
	m->mr = fd < 0 ? ibv_reg_mr(loop.near.pd, (void *)m->at, BLOCK, ACCESS) :
			 ibv_reg_dmabuf_mr(loop.near.pd, 0, BLOCK, m->at, fd, ACCESS);
	return m->mr ? 0 : -errno;
}

static int write_some(uint64_t at, uint32_t rkey)
{
	return rc_transfer(&loop.near, IBV_WR_RDMA_WRITE, host, (uintptr_t)bytes, at, rkey, 4096);
}

/* An exporter or a client without memory may report that as an error of the mapping. */
static bool plausible(struct fail *f, int ret)
{
	return fail_plausible(f, ret) || (f->fired && ret == -EIO);
}

static void each_registration(enum way way)
{
	struct memory m;
	int fd, ret;

	EXPECT(!memory_new(&m, way, &fd), "way %d", way);
	FAIL_EACH(f) {
		module_set("emurdma/parameters/pin_dmabuf", way == BY_PINNED_DMABUF ? "1" : "0");
		FAIL(f, ret = reg(&m, fd));
		module_set("emurdma/parameters/pin_dmabuf", "0");
		EXPECT(plausible(&f, ret), "way %d, allocation %u: %d", way, f.nth, ret);
		EXPECT(ret || !write_some(m.at, m.mr->rkey), "way %d, allocation %u: write", way, f.nth);
		EXPECT(!dereg(&m), "way %d: deregistration", way);
	}
	close(fd);
	EXPECT(!memory_close(&m), "way %d: close", way);
}

CASE(registration_fails_cleanly)
{
	int way;

	for (way = 0; way < WAYS; way++) {
		each_registration(way);
		CHECK_CASE();
	}
}

/* The call copies from the process, which may fail: then the MR is still there. */
CASE(deregistration_needs_no_memory)
{
	struct memory m;
	int way, fd, ret;

	for (way = 0; way < WAYS; way++) {
		EXPECT(!memory_new(&m, way, &fd), "way %d", way);
		FAIL_EACH(f) {
			EXPECT(!reg(&m, fd), "way %d", way);
			FAIL(f, ret = -ibv_dereg_mr(m.mr));
			EXPECT(!ret || (f.fired && ret == -EFAULT), "way %d, allocation %u: %d", way, f.nth, ret);
			m.mr = ret ? m.mr : NULL;
			EXPECT(!dereg(&m), "way %d: again", way);
		}
		CHECK_CASE();
		close(fd);
		EXPECT(!memory_close(&m), "way %d: close", way);
	}
}

/* Memory of the GPU's driver alone: the emulated libcuda forgets memory whose free failed. */
CASE(free_without_memory_ends_mr)
{
	struct memory m = { .at = AT };
	int gpu = emu_open(), ret;

	FAIL_EACH(f) {
		EXPECT(!emu_alloc(gpu, AT, BLOCK) && !reg(&m, -1), "registration: %d", errno);
		FAIL(f, ret = emu_free(gpu, AT));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!ret || !emu_free(gpu, AT), "allocation %u: the second free", f.nth);
		EXPECT(write_some(AT, m.mr->rkey) == IBV_WC_REM_ACCESS_ERR, "allocation %u: written", f.nth);
		EXPECT(!loop_restart() && !dereg(&m), "deregistration");
	}
	close(gpu);
}

VMTEST_MAIN

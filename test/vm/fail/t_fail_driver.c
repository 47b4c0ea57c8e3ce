// SPDX-License-Identifier: MIT
/* The in-kernel API, called by a driver, while each allocation fails in turn. */
#include "fail.h"
#include "test/vm/core/core.h"

#include <pthread.h>

enum {
	LONG = 16 << 20,
	OVERSTAY_US = 4000000,	/* time by which a DMA exceeds drain_timeout_ms (1000) */
};

static char *host;
static int driver;

/* Calls on the driver's file. */
static int attach(unsigned int peer)
{
	return core_do(driver, CORE_CHECK_ATTACH, peer);
}

SETUP(everything_is_there)
{
	EXPECT_CORE();
	EXPECT(!emu_scatter(gpu, 1) && !emu_alloc(gpu, GPU_A, LONG), "alloc");
	host = mmap(NULL, LONG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	EXPECT(host != MAP_FAILED, "host memory");
	EXPECT_CLEAN();
}

CASE(peers)
{
	int ret;

	FAIL_EACH(f) {
		FAIL(f, ret = core_register(0));
		EXPECT_PLAUSIBLE(f, ret);
		core_unregister(0);
	}
}

CASE(unregister_of_an_attached_peer)
{
	int ret;

	FAIL_EACH(f) {
		driver = core_open();
		EXPECT(!core_register(0) && !core_pin(driver, GPU_A, BLOCK) && !attach(0), "attach");
		FAIL(f, ret = core_unregister(0));
		EXPECT_PLAUSIBLE(f, ret);
		core_unregister(0);
		close(driver);
	}
}

static void each_pin(struct core_check what)
{
	struct core_check c;
	int ret;

	FAIL_EACH(f) {
		driver = core_open();
		c = what;
		FAIL(f, ret = core_call(driver, CORE_CHECK_PIN, &c));
		EXPECT_PLAUSIBLE(f, ret);
		/* -EFAULT may come from the driver's copy to user space. Then the pin exists. */
		EXPECT(ret != -ENOMEM || core_gets_clean(), "allocation %u: left", f.nth);
		close(driver);
	}
}

CASE(pins_by_a_driver)
{
	each_pin((struct core_check){ .addr = GPU_A, .length = LONG });
	CHECK_CASE();
	each_pin((struct core_check){ .addr = GPU_A, .length = LONG, .flags = PEERPIN_PIN_PERSISTENT });
	CHECK_CASE();
	each_pin((struct core_check){ .addr = (uintptr_t)host, .length = LONG });
}

CASE(regions_of_a_process)
{
	struct peerpin_pin p;
	int fd, ret;

	FAIL_EACH(f) {
		fd = pin_open();
		driver = core_open();
		EXPECT(!pin_at(fd, GPU_A, BLOCK, &p), "pin");
		FAIL(f, ret = core_get(driver, fd, p.out_region));
		EXPECT_PLAUSIBLE(f, ret);
		close(driver);
		close(fd);
	}
}

/* ---- attachments -------------------------------------------------------------------- */

/* After a failed attach, the attach must work at once. */
static void each_attach(struct core_check what, unsigned int peer)
{
	struct core_check c;
	int ret;

	EXPECT(!core_register(peer), "register");
	FAIL_EACH(f) {
		driver = core_open();
		c = what;
		EXPECT(!core_call(driver, CORE_CHECK_PIN, &c), "pin");
		FAIL(f, ret = attach(peer));
		EXPECT(fail_plausible(&f, ret) || (f.fired && ret == -EIO), "allocation %u: %d", f.nth, ret);
		ret = attach(peer);
		EXPECT(!ret || ret == -EBUSY, "allocation %u: afterwards %d", f.nth, ret);
		close(driver);
	}
	EXPECT(!core_unregister(peer), "unregister");
}

CASE(attachments_to_gpu_memory)
{
	each_attach((struct core_check){ .addr = GPU_A, .length = LONG }, CORE_CHECK_CHIP);
	CHECK_CASE();
	each_attach((struct core_check){ .addr = GPU_A, .length = LONG, .flags = PEERPIN_PIN_PERSISTENT }, 0);
}

CASE(attachments_to_host_memory)
{
	each_attach((struct core_check){ .addr = (uintptr_t)host, .length = LONG }, CORE_CHECK_CHIP);
	CHECK_CASE();
	each_attach((struct core_check){ .addr = (uintptr_t)host, .length = LONG }, 0);
}

static void each_detach(uint64_t addr)
{
	int ret;

	EXPECT(!core_register(CORE_CHECK_CHIP), "register");
	FAIL_EACH(f) {
		driver = core_open();
		EXPECT(!core_pin(driver, addr, LONG) && !attach(CORE_CHECK_CHIP), "attach");
		FAIL(f, ret = core_do(driver, CORE_CHECK_DETACH, CORE_CHECK_CHIP));
		EXPECT_PLAUSIBLE(f, ret);
		close(driver);
	}
	EXPECT(!core_unregister(CORE_CHECK_CHIP), "unregister");
}

CASE(detachments)
{
	each_detach(GPU_A);
	CHECK_CASE();
	each_detach((uintptr_t)host);
}

static void each_unpin(uint64_t addr)
{
	int ret;

	EXPECT(!core_register(CORE_CHECK_CHIP), "register");
	FAIL_EACH(f) {
		driver = core_open();
		EXPECT(!core_pin(driver, addr, LONG) && !attach(CORE_CHECK_CHIP), "attach");
		FAIL(f, ret = core_do(driver, CORE_CHECK_UNPIN, 0));
		EXPECT_PLAUSIBLE(f, ret);
		close(driver);
	}
	EXPECT(!core_unregister(CORE_CHECK_CHIP), "unregister");
}

CASE(unpin_of_attached_memory)
{
	each_unpin(GPU_A);
	CHECK_CASE();
	each_unpin((uintptr_t)host);
}

/* ---- DMA ------------------------------------------------------------------------------- */

enum step { BEGIN, WALK, STALE, END };

static int make_step(enum step step)
{
	struct core_check c = { .length = BLOCK, .max = 4096 };

	switch (step) {
	case BEGIN:
		return core_call(driver, CORE_CHECK_BEGIN, &c);
	case WALK:
		return core_call(driver, CORE_CHECK_WALK, &c);
	case STALE:
		return core_call(driver, CORE_CHECK_STALE, &c);
	default:
		return core_call(driver, CORE_CHECK_END, &c);
	}
}

static void each_step(enum step step)
{
	int ret;

	FAIL_EACH(f) {
		driver = core_open();
		EXPECT(!core_pin(driver, GPU_A, BLOCK) && !attach(0), "attach");
		EXPECT(step == BEGIN || !make_step(BEGIN), "begin");
		FAIL(f, ret = make_step(step));
		EXPECT_PLAUSIBLE(f, ret);
		close(driver);
	}
}

CASE(dma)
{
	enum step step;

	EXPECT(!core_register(0), "register");
	for (step = BEGIN; step <= END; step++) {
		each_step(step);
		CHECK_CASE();
	}
	EXPECT(!core_unregister(0), "unregister");
}

/* A failed allocation must not prevent the stop of the DMA or the free. */
CASE(free_during_dma)
{
	int ret;

	EXPECT(!core_register(0) && !emu_free(gpu, GPU_A), "register");
	FAIL_EACH(f) {
		driver = core_open();
		EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !core_pin(driver, GPU_A, BLOCK) && !attach(0), "attach");
		EXPECT(!core_begin_until_stopped(driver, 0, 0, BLOCK), "begin");
		FAIL(f, ret = emu_free(gpu, GPU_A));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!ret || !emu_free(gpu, GPU_A), "free");
		EXPECT(core_end(driver, 0) == -ENOENT, "allocation %u: the DMA was not stopped", f.nth);
		close(driver);
	}
	EXPECT(!core_unregister(0) && !emu_alloc(gpu, GPU_A, LONG), "unregister");
}

CASE(close_during_dma)
{
	int ret;

	EXPECT(!core_register(0), "register");
	FAIL_EACH(f) {
		driver = core_open();
		EXPECT(!core_pin(driver, (uintptr_t)host, BLOCK) && !attach(0) && !make_step(BEGIN), "begin");
		FAIL(f, ret = close(driver));
		EXPECT_DONE(f, ret);
	}
	EXPECT(!core_unregister(0), "unregister");
}

/* ---- dma-bufs ---------------------------------------------------------------------------- */

static int export_new(const char *dynamic)
{
	struct emugpu_export e = { .va = GPU_B, .size = BLOCK };

	return module_set("emugpu/parameters/dmabuf_dynamic", dynamic) ?: emu_alloc(gpu, GPU_B, BLOCK) ?:
	       emu_call(gpu, EMUGPU_IOC_EXPORT, &e) ?: e.out_fd;
}

static void each_attach_to_a_dmabuf(const char *dynamic)
{
	struct core_check c = { .length = BLOCK, .provider = PEERPIN_PROVIDER_DMABUF };

	c.fd = export_new(dynamic);
	EXPECT(c.fd >= 0, "export: %d", c.fd);
	each_pin(c);
	CHECK_CASE();
	each_attach(c, CORE_CHECK_CHIP);
	CHECK_CASE();
	each_attach(c, 0);
	close(c.fd);
	emu_free(gpu, GPU_B);
}

CASE(attachments_to_a_dmabuf)
{
	each_attach_to_a_dmabuf("0");
	CHECK_CASE();
	each_attach_to_a_dmabuf("1");
}

/* The dynamic dma-buf notifies its importers of the free. */
CASE(free_of_exported_memory)
{
	struct core_check c = { .length = BLOCK, .provider = PEERPIN_PROVIDER_DMABUF };
	int ret;

	EXPECT(!core_register(CORE_CHECK_CHIP), "register");
	FAIL_EACH(f) {
		driver = core_open();
		c.fd = export_new("1");
		EXPECT(c.fd >= 0 && !core_call(driver, CORE_CHECK_PIN, &c) && !attach(CORE_CHECK_CHIP), "attach");
		close(c.fd);
		FAIL(f, ret = emu_free(gpu, GPU_B));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!ret || !emu_free(gpu, GPU_B), "free");
		close(driver);
	}
	EXPECT(!core_unregister(CORE_CHECK_CHIP), "unregister");
}

static bool overstay_ended;

static void *overstay(void *arg)
{
	(void)arg;
	usleep(OVERSTAY_US);
	__atomic_store_n(&overstay_ended, true, __ATOMIC_SEQ_CST);
	core_end(driver, 0);
	return NULL;
}

/* True if the free returned only after the end of the DMA. */
static bool free_awaits_overstay(struct fail *f)
{
	pthread_t thread;
	bool waited;
	int ret;

	overstay_ended = false;
	if (pthread_create(&thread, NULL, overstay, NULL)) {
		vmtest_end(VMTEST_FAILED, "thread");
		return false;
	}
	FAIL(*f, ret = emu_free(gpu, GPU_B));
	waited = __atomic_load_n(&overstay_ended, __ATOMIC_SEQ_CST);
	if (!fail_plausible(f, ret) || (ret && emu_free(gpu, GPU_B)))
		vmtest_end(VMTEST_FAILED, "allocation %u: free: %d", f->nth, ret);
	pthread_join(thread, NULL);
	return waited;
}

/* The exporter normally adds a fence. Without memory for the fence, the exporter waits until the DMA ends. */
CASE(free_of_exported_memory_under_dma)
{
	struct core_check c = { .length = BLOCK, .provider = PEERPIN_PROVIDER_DMABUF };
	unsigned int waited = 0, left = 0;

	EXPECT(!core_register(CORE_CHECK_CHIP), "register");
	FAIL_EACH(f) {
		driver = core_open();
		c.fd = export_new("1");
		EXPECT(c.fd >= 0 && !core_call(driver, CORE_CHECK_PIN, &c) && !attach(CORE_CHECK_CHIP), "attach");
		EXPECT(!core_begin(driver, CORE_CHECK_CHIP, 0, 0, BLOCK), "begin");
		close(c.fd);
		if (free_awaits_overstay(&f))
			waited++;
		else
			left++;
		CHECK_CASE();
		close(driver);
	}
	EXPECT(waited && left, "%u frees waited, %u got a fence", waited, left);
	EXPECT(!core_unregister(CORE_CHECK_CHIP), "unregister");
}

CASE(unpin_of_a_dmabuf)
{
	struct core_check c = { .length = BLOCK, .provider = PEERPIN_PROVIDER_DMABUF };
	int ret;

	EXPECT(!core_register(CORE_CHECK_CHIP), "register");
	FAIL_EACH(f) {
		driver = core_open();
		c.fd = export_new("1");
		EXPECT(c.fd >= 0 && !core_call(driver, CORE_CHECK_PIN, &c) && !attach(CORE_CHECK_CHIP), "attach");
		close(c.fd);
		FAIL(f, ret = core_do(driver, CORE_CHECK_UNPIN, 0));
		EXPECT_PLAUSIBLE(f, ret);
		close(driver);
		EXPECT(!emu_free(gpu, GPU_B), "free");
	}
	EXPECT(!core_unregister(CORE_CHECK_CHIP), "unregister");
}

VMTEST_MAIN

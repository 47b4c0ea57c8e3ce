// SPDX-License-Identifier: MIT
/*
 * dma-bufs of VFIO: the BAR of a GPU that vfio-pci drives. VFIO takes revocable importers only. It revokes
 * when the device is reset, stops decoding or is closed, and then waits without a limit for fences and for the
 * unmaps.
 */
#include "import.h"
#include "vfio.h"

#include <pthread.h>

enum { DRAIN_MS = 1000 };	/* value of drain_timeout_ms */

static const struct vfio_range whole = { .length = SIZE };
static unsigned char *bar;	/* the CPU's view of the BAR */
static int dmabuf = -1;

static int open_device(void)
{
	int err = vfio_open();

	bar = err ? MAP_FAILED : vfio_map(SIZE);
	dmabuf = err ?: vfio_export(&whole, 1);
	return dmabuf < 0 ? dmabuf : bar == MAP_FAILED ? -ENOMEM : 0;
}

static void close_device(void)
{
	munmap(bar, SIZE);
	vfio_close();
}

SETUP(everything_is_there)
{
	struct emugpu_info info;
	int err;

	EXPECT_NODES();
	EXPECT(!emu_info(gpu, 1, &info), "no second GPU; type: emu/vm/run --gpus 2 ...");
	snprintf(vfio_address, sizeof(vfio_address), "%04x:%02x:%02x.%x", info.out_domain, info.out_bus, info.out_device,
		 info.out_function);
	EXPECT(!emu_sysfs(&info, "unbind"), "unbind");
	err = vfio_take();
	EXPECT(!err, "vfio-pci: %d", err);
	err = open_device();
	EXPECT(!err, "vfio: %d; type: emu/vm/run --iommu --topology root-ports ...", err);
	EXPECT(!host_make(&host, SIZE), "host memory");
}

static int pin_whole(struct peerpin_pin *pin)
{
	return pin_dmabuf(dmabuf, 0, SIZE, pin);
}

static void expect_revoked(const struct peerpin_pin *pin)
{
	uint64_t start = now_ns();

	while (attached_to(pin) && ms_since(start) < 1000)
		usleep(1000);
	EXPECT(state_of(pin) == PEERPIN_STATE_REVOKED && !attached_to(pin), "state %u, attached %u", state_of(pin),
	       attached_to(pin));
	EXPECT(copy_out(pin, 0, PAGE) == -ESTALE, "copied");
	EXPECT(!unpin(fd, pin->out_region), "unpin");
}

/* ---- contents ---- */

CASE(device_copies_both_ways)
{
	struct peerpin_pin pin;
	int err;

	EXPECT(!pin_whole(&pin), "pin: reason %u", pin.out_reason);
	pattern_fill(bar, 1, SIZE);
	err = copy_out(&pin, 0, SIZE);
	EXPECT(!err && pattern_differs(host.at, 1, 0, SIZE) < 0, "%d, byte %ld", err, pattern_differs(host.at, 1, 0, SIZE));
	pattern_fill(host.at, 2, SIZE);
	EXPECT(!copy_in(&pin, 0, SIZE) && pattern_differs(bar, 2, 0, SIZE) < 0, "byte %ld", pattern_differs(bar, 2, 0, SIZE));
	EXPECT(!unpin(fd, pin.out_region), "unpin");
}

CASE(ranges_come_in_their_order)
{
	static const struct vfio_range ranges[] = { { BLOCK, 4 * PAGE }, { PAGE, 2 * PAGE } };
	int parts = vfio_export(ranges, 2);
	struct peerpin_pin pin;
	int err;

	pattern_fill(bar, 3, SIZE);
	EXPECT(parts >= 0 && !pin_and_close(parts, 6 * PAGE, &pin), "%d, reason %u", parts, pin.out_reason);
	err = copy_out(&pin, 0, 6 * PAGE);
	if (err == -EADDRINUSE) {
		EXPECT(!unpin(fd, pin.out_region), "unpin");
		SKIP("this kernel maps all ranges at one address of the IOMMU (dma_buf_phys_vec_to_sgt())");
	}
	EXPECT(!err, "copy: %d", err);
	EXPECT(pattern_differs(host.at, 3, BLOCK, 4 * PAGE) < 0, "the first range");
	EXPECT(pattern_differs(host.at + 4 * PAGE, 3, PAGE, 2 * PAGE) < 0, "the second range");
	EXPECT(!unpin(fd, pin.out_region), "unpin");
}

/* ---- revocations ---- */

CASE(reset_revokes_all_regions)
{
	struct peerpin_pin one, part;

	EXPECT(!pin_whole(&one) && !copy_out(&one, 0, PAGE), "pin: reason %u", one.out_reason);
	EXPECT(!pin_dmabuf(dmabuf, BLOCK, PAGE, &part) && !copy_out(&part, 0, PAGE), "pin: reason %u", part.out_reason);
	EXPECT(!vfio_reset(), "reset");
	expect_revoked(&one);
	expect_revoked(&part);
}

CASE(dmabuf_works_again_after_reset)
{
	struct peerpin_pin pin;
	int i;

	for (i = 0; i < 5; i++) {
		EXPECT(!pin_whole(&pin) && !copy_out(&pin, 0, PAGE), "pin %d: reason %u", i, pin.out_reason);
		EXPECT(!vfio_reset(), "reset");
		expect_revoked(&pin);
		CHECK_CASE();
	}
	EXPECT(!pin_whole(&pin), "pin");
	pattern_fill(bar, 4, SIZE);
	EXPECT(!copy_out(&pin, 0, SIZE) && pattern_differs(host.at, 4, 0, SIZE) < 0, "copy");
	EXPECT(!unpin(fd, pin.out_region), "unpin");
}

static void *copy_until_refused(void *arg)
{
	const struct peerpin_pin *pin = arg;
	int err;

	do
		err = copy_out(pin, 0, SIZE);
	while (!err);
	return (void *)(intptr_t)err;
}

CASE(reset_during_copies_is_ESTALE)
{
	struct peerpin_pin pin;
	pthread_t thread;
	void *err;
	int i;

	for (i = 0; i < 20; i++) {
		EXPECT(!pin_whole(&pin) && !copy_out(&pin, 0, PAGE), "pin %d: reason %u", i, pin.out_reason);
		EXPECT(!pthread_create(&thread, NULL, copy_until_refused, &pin), "thread");
		usleep(i * 997 % 20000);
		EXPECT(!vfio_reset(), "reset");
		pthread_join(thread, &err);
		EXPECT((intptr_t)err == -ESTALE, "copy: %ld", (long)(intptr_t)err);
		expect_revoked(&pin);
		CHECK_CASE();
	}
}

static int64_t timed_reset(void)
{
	uint64_t start = now_ns();
	int err = vfio_reset();

	return err ?: (int64_t)ms_since(start);
}

static void *end_after(void *ms)
{
	usleep((uintptr_t)ms * 1000);
	end_held();
	return NULL;
}

/* VFIO holds the reservation lock while it waits for the fence of overdue DMA. */
static void expect_reset_waits(uintptr_t dma_ms)
{
	struct peerpin_pin pin;
	pthread_t thread;
	int64_t ms;

	EXPECT(!pin_whole(&pin) && !hold(&pin, 0), "hold: reason %u", pin.out_reason);
	EXPECT(!pthread_create(&thread, NULL, end_after, (void *)dma_ms), "thread");
	ms = timed_reset();
	pthread_join(thread, NULL);
	EXPECT(ms >= (int64_t)dma_ms - 50 && ms < (int64_t)dma_ms + 5 * DRAIN_MS, "reset: %ld ms", ms);
	expect_revoked(&pin);
}

CASE(reset_waits_for_dma_in_flight)
{
	expect_reset_waits(200);
}

CASE(reset_waits_for_overdue_dma)
{
	expect_reset_waits(DRAIN_MS + 400);
}

CASE(reset_does_not_wait_after_stop)
{
	struct peerpin_pin pin;
	int64_t ms;

	EXPECT(!pin_whole(&pin) && !hold(&pin, 1), "hold: reason %u", pin.out_reason);
	ms = timed_reset();
	EXPECT(ms >= 0 && ms < DRAIN_MS * 3 / 4, "reset: %ld ms", ms);
	expect_revoked(&pin);
}

CASE(disabled_bar_is_ENODEV)
{
	struct peerpin_pin pin, disabled;

	EXPECT(!pin_whole(&pin) && !copy_out(&pin, 0, PAGE), "pin: reason %u", pin.out_reason);
	EXPECT(!vfio_decode(0), "disable");
	expect_revoked(&pin);
	CHECK_CASE();
	EXPECT(!pin_whole(&disabled) && copy_out(&disabled, 0, PAGE) == -ENODEV, "copied");
	EXPECT(!vfio_decode(1), "enable");
	EXPECT(!copy_out(&disabled, 0, PAGE), "copy after enable");
	EXPECT(!unpin(fd, disabled.out_region), "unpin");
}

/* Descriptors of the closed device do not come back to life. */
CASE(closed_device_is_ENODEV)
{
	struct peerpin_pin pin, closed;
	int old = dmabuf;

	EXPECT(!pin_whole(&pin) && !copy_out(&pin, 0, PAGE), "pin: reason %u", pin.out_reason);
	close_device();
	expect_revoked(&pin);
	CHECK_CASE();
	EXPECT(!open_device(), "open");
	EXPECT(!pin_dmabuf(old, 0, SIZE, &closed) && copy_out(&closed, 0, PAGE) == -ENODEV, "copied");
	EXPECT(!unpin(fd, closed.out_region) && !close(old), "unpin");
	EXPECT(!pin_whole(&pin) && !copy_out(&pin, 0, PAGE), "pin of the new dma-buf: reason %u", pin.out_reason);
	EXPECT(!unpin(fd, pin.out_region), "unpin");
}

CASE(nothing_is_left)
{
	struct peer_check c = { 0 };

	EXPECT(!check_call(check, PEER_CHECK_UNREGISTER, &c), "unregister");
	close(dmabuf);
	close_device();
	EXPECT(!vfio_return(), "return the device");
	close(fd);
	close(lsi);
	close(check);
	EXPECT_ALL_GONE();
	close(gpu);
}

VMTEST_MAIN

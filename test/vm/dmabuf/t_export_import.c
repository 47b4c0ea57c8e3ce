// SPDX-License-Identifier: MIT
/*
 * A dma-buf of peerpin is pinned by peerpin. So peerpin's dma-buf provider is the importer. The
 * revocation of the first region must revoke the second region and wait for its devices.
 */
#include "import.h"

#include <pthread.h>

#define DRAIN_MS 1000

static struct peerpin_pin first, again;

/* Pin GPU_A through @file, export the region, and pin the dma-buf through @file. */
static int pin_twice(int file)
{
	struct peerpin_export c = { .size = sizeof(c), .length = SIZE };
	int err = emu_alloc(gpu, GPU_A, SIZE) ?: pin_at(file, GPU_A, SIZE, &first);

	if (err)
		return err;
	c.region = first.out_region;
	if (ioctl(file, PEERPIN_IOC_EXPORT, &c))
		return -errno;
	again = (struct peerpin_pin){
		.size = sizeof(again), .length = SIZE, .provider = PEERPIN_PROVIDER_DMABUF, .fd = c.out_fd,
	};
	err = ioctl(file, PEERPIN_IOC_PIN, &again) ? -errno : 0;
	close(c.out_fd);
	return err;
}

static int64_t timed_free(void)
{
	uint64_t began = now_ns();

	return emu_free(gpu, GPU_A) ? -1 : (int64_t)ms_since(began);
}

static void expect_both_revoked(void)
{
	EXPECT(state_of(&first) == PEERPIN_STATE_REVOKED, "%u", state_of(&first));
	EXPECT(state_of(&again) == PEERPIN_STATE_REVOKED, "%u", state_of(&again));
	EXPECT(copy_out(&first, 0, PAGE) == -ESTALE && copy_out(&again, 0, PAGE) == -ESTALE, "copied");
}

static void unpin_both(void)
{
	EXPECT(!unpin(fd, first.out_region) && !unpin(fd, again.out_region), "unpin");
	EXPECT_ALL_GONE();
}

SETUP(everything_is_there)
{
	EXPECT_NODES();
	EXPECT(!host_make(&host, SIZE), "host memory");
}

static void *end_after_200_ms(void *arg)
{
	usleep(200000);
	*(int *)arg = end_held();
	return NULL;
}

CASE(free_waits_for_second_regions_dma)
{
	pthread_t thread;
	int64_t ms;
	int err = -1;

	EXPECT(!pin_twice(fd) && !hold(&again, 0), "hold: reason %u", again.out_reason);
	EXPECT(!pthread_create(&thread, NULL, end_after_200_ms, &err), "thread");
	ms = timed_free();
	pthread_join(thread, NULL);
	EXPECT(!err && ms >= 150 && ms < DRAIN_MS - 100, "free: %ld ms", ms);
	expect_both_revoked();
	CHECK_CASE();
	unpin_both();
}

CASE(free_times_out_on_overdue_dma)
{
	int64_t ms;

	EXPECT(!pin_twice(fd) && !hold(&again, 0), "hold: reason %u", again.out_reason);
	ms = timed_free();
	EXPECT(ms >= DRAIN_MS - 100 && ms < 2 * DRAIN_MS, "free: %ld ms", ms);
	expect_both_revoked();
	CHECK_CASE();
	EXPECT(!end_held(), "end of overdue DMA");
	unpin_both();
}

CASE(unpin_of_first_revokes_second)
{
	EXPECT(!pin_twice(fd) && !copy_out(&again, 0, PAGE), "copy: reason %u", again.out_reason);
	EXPECT(!unpin(fd, first.out_region), "unpin");
	EXPECT(state_of(&again) == PEERPIN_STATE_REVOKED, "%u", state_of(&again));
	EXPECT(!unpin(fd, again.out_region) && !emu_free(gpu, GPU_A), "unpin");
	EXPECT_ALL_GONE();
}

CASE(unpin_of_second_keeps_first)
{
	EXPECT(!pin_twice(fd) && !copy_out(&again, 0, PAGE), "copy: reason %u", again.out_reason);
	EXPECT(!unpin(fd, again.out_region), "unpin");
	EXPECT(state_of(&first) == PEERPIN_STATE_LIVE && !copy_out(&first, 0, PAGE), "%u", state_of(&first));
	EXPECT(!unpin(fd, first.out_region) && !emu_free(gpu, GPU_A), "unpin");
	EXPECT_ALL_GONE();
}

/* Without an attached device, no importer is notified. The next attach must be refused. */
CASE(second_region_is_revoked_without_device)
{
	EXPECT(!pin_twice(fd) && !emu_free(gpu, GPU_A), "free: reason %u", again.out_reason);
	EXPECT(copy_out(&again, 0, PAGE), "copied");
	unpin_both();
}

CASE(close_ends_both_regions)
{
	int file = pin_open();

	EXPECT(!pin_twice(file), "pin: reason %u", again.out_reason);
	EXPECT(!lsi_copy(lsi, end_of(&host.pin, 0), (struct end){ file, again.out_region, 0 }, PAGE), "copy");
	close(file);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_ALL_GONE();
}

static void *copy_until_refused(void *arg)
{
	int err;

	do
		err = copy_out(&again, 0, PAGE);
	while (!err);
	*(int *)arg = err;
	return NULL;
}

CASE(free_races_with_copy)
{
	pthread_t thread;
	int i, err;

	for (i = 0; i < 50; i++) {
		EXPECT(!pin_twice(fd), "pin: reason %u", again.out_reason);
		err = 0;
		EXPECT(!pthread_create(&thread, NULL, copy_until_refused, &err), "thread");
		usleep(i * 41 % 1000);
		EXPECT(timed_free() < DRAIN_MS / 2, "free");
		pthread_join(thread, NULL);
		EXPECT(err == -ESTALE || err == -ENODEV, "%d", err);
		unpin_both();
		CHECK_CASE();
	}
}

VMTEST_MAIN

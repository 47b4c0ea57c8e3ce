// SPDX-License-Identifier: MIT
/* The revocation of a dma-buf of GPU memory races with calls of its importer and owner. */
#include "exported.h"

#include <linux/dma-buf.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

SETUP(nodes_are_there)
{
	EXPECT_EXPORT_NODES();
	EXPECT(shorten_waits() == 0, "parameter");
}

/* Map and unmap until map() fails. The result is the error. */
static void *map_until_ended(void *result)
{
	int err;

	do {
		err = map(0);
		unmap(0);
	} while (!err || err == -EBADSLT);
	*(int *)result = err;
	return NULL;
}

static void end_while_mapped(int us, bool by_unpin)
{
	pthread_t thread;
	int err = 0;

	start_import(us % 2);
	CHECK_CASE();
	EXPECT(!pthread_create(&thread, NULL, map_until_ended, &err), "thread");
	usleep(us);
	EXPECT((by_unpin ? unpin(peerpin, region.out_region) : emu_free(fd, VA)) == 0, "end");
	pthread_join(thread, NULL);
	EXPECT(err == -ENODEV, "%d", err);
	expect_ended(0);
	CHECK_CASE();
	EXPECT(detach(0) == 0 && close(whole) == 0, "detach");
	EXPECT((by_unpin ? emu_free(fd, VA) : unpin(peerpin, region.out_region)) == 0, "end");
	EXPECT_ALL_GONE();
}

CASE(end_races_with_map)
{
	int i;

	for (i = 0; i < 100; i++) {
		end_while_mapped(i * 37 % 1000, i & 2);
		CHECK_CASE();
	}
}

static void *close_it(void *unused)
{
	close(whole);
	return unused;
}

CASE(end_races_with_close)
{
	pthread_t thread;
	int i;

	for (i = 0; i < 200; i++) {
		start();
		CHECK_CASE();
		EXPECT(!pthread_create(&thread, NULL, close_it, NULL), "thread");
		usleep(i % 10 * 10);
		EXPECT(emu_free(fd, VA) == 0 && unpin(peerpin, region.out_region) == 0, "end");
		pthread_join(thread, NULL);
		EXPECT_ALL_GONE();
	}
}

static void *detach_it(void *result)
{
	*(int *)result = detach(0);
	return NULL;
}

CASE(end_races_with_detach)
{
	pthread_t thread;
	int i, err = -1;

	for (i = 0; i < 100; i++) {
		start_import(i % 2);
		CHECK_CASE();
		EXPECT(!pthread_create(&thread, NULL, detach_it, &err), "thread");
		usleep(i % 10 * 20);
		EXPECT(emu_free(fd, VA) == 0, "free");
		pthread_join(thread, NULL);
		EXPECT(err == 0 && close(whole) == 0 && unpin(peerpin, region.out_region) == 0, "%d", err);
		EXPECT_ALL_GONE();
	}
}

static void *import_it(void *result)
{
	*(int *)result = import_as(0, whole, DMABUF_CHECK_DYNAMIC, true);
	return NULL;
}

/* The import must be refused, or it must be mapped and then notified. */
CASE(end_races_with_import)
{
	pthread_t thread;
	int i, err = -1, taken = 0, too_late = 0, delay = 0;

	for (i = 0; i < 100; i++) {
		start();
		CHECK_CASE();
		EXPECT(!pthread_create(&thread, NULL, import_it, &err), "thread");
		usleep(delay);
		EXPECT(emu_free(fd, VA) == 0, "free");
		pthread_join(thread, NULL);
		EXPECT(err == -ENODEV || (err == 0 && notified(0) == 1), "%d, %u notifications", err, notified(0));
		taken += !err;
		too_late += err == -ENODEV;
		delay = next_delay(delay, err == -ENODEV);
		EXPECT(look(0, 0).out_entries == 0, "the dma-buf is left mapped");
		EXPECT(detach(0) == 0 && close(whole) == 0 && unpin(peerpin, region.out_region) == 0, "end");
		EXPECT_ALL_GONE();
	}
	printf("# %d imports in time, %d too late\n", taken, too_late);
	EXPECT(taken && too_late, "%d in time, %d too late", taken, too_late);
}

/* Unpin while another thread frees the memory: both calls revoke, and both wait for the importer. */
static void *unpin_it(void *result)
{
	*(int *)result = unpin(peerpin, region.out_region);
	return NULL;
}

CASE(free_races_with_unpin)
{
	pthread_t thread;
	int i, err = -1;

	for (i = 0; i < 100; i++) {
		start_import(i % 2);
		CHECK_CASE();
		EXPECT(!pthread_create(&thread, NULL, unpin_it, &err), "thread");
		usleep(i % 10 * 20);
		EXPECT(emu_free(fd, VA) == 0, "free");
		pthread_join(thread, NULL);
		EXPECT(err == 0, "unpin: %d", err);
		expect_ended(0);
		CHECK_CASE();
		EXPECT(detach(0) == 0 && close(whole) == 0, "detach");
		EXPECT_ALL_GONE();
	}
}

static atomic_bool stopped;

/* Calls that each process with the descriptor may make. They copy the importer's fence, and add the copy to the dma-buf. */
static void *call_until_stopped(void *unused)
{
	struct dma_buf_sync begin = { DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW };
	struct dma_buf_sync end = { DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW };
	struct pollfd both = { .fd = whole, .events = POLLIN | POLLOUT };

	while (!stopped) {
		struct dma_buf_export_sync_file out = { .flags = DMA_BUF_SYNC_RW };
		struct dma_buf_import_sync_file in = { .flags = DMA_BUF_SYNC_WRITE };

		poll(&both, 1, 0);
		ioctl(whole, DMA_BUF_SET_NAME, "name");
		lseek(whole, 0, SEEK_END);
		if (ioctl(whole, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &out))
			continue;
		in.fd = out.fd;
		ioctl(whole, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &in);
		close(out.fd);
		if (!ioctl(whole, DMA_BUF_IOCTL_SYNC, &begin))
			ioctl(whole, DMA_BUF_IOCTL_SYNC, &end);
	}
	return unused;
}

CASE(end_races_with_calls_on_descriptor)
{
	pthread_t thread;
	int i;

	for (i = 0; i < 50; i++) {
		start_import(i % 2);
		CHECK_CASE();
		stopped = false;
		EXPECT(slot_call(DMABUF_CHECK_FENCE, 0) == 0, "fence");
		EXPECT(!pthread_create(&thread, NULL, call_until_stopped, NULL), "thread");
		usleep(i % 10 * 50);
		EXPECT(slot_call(DMABUF_CHECK_SIGNAL, 0) == 0, "signal");
		EXPECT((i & 4 ? unpin(peerpin, region.out_region) : emu_free(fd, VA)) == 0, "end");
		stopped = true;
		pthread_join(thread, NULL);
		expect_ended(0);
		CHECK_CASE();
		EXPECT(detach(0) == 0 && close(whole) == 0, "detach");
		EXPECT((i & 4 ? emu_free(fd, VA) : unpin(peerpin, region.out_region)) == 0, "end");
		EXPECT_ALL_GONE();
	}
}

VMTEST_MAIN

// SPDX-License-Identifier: MIT
/* Importers are slow, and the memory is freed meanwhile. */
#include "test/kmod/raw_dmabuf.h"
#include "exported.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

SETUP(nodes_are_there)
{
	EXPECT_EXPORT_NODES();
	EXPECT(drain_timeout("1000") == 0, "parameter");
	await_log();
}

/* ---- one region ---- */

static void *signal_after_200_ms(void *arg)
{
	usleep(200000);
	*(int *)arg = slot_call(DMABUF_CHECK_SIGNAL, 0);
	return NULL;
}

CASE(free_waits_for_a_fence)
{
	pthread_t thread;
	uint64_t began;
	int err = -1;

	start_import(true);
	CHECK_CASE();
	EXPECT(slot_call(DMABUF_CHECK_FENCE, 0) == 0, "fence");
	log_skip();
	EXPECT(!pthread_create(&thread, NULL, signal_after_200_ms, &err), "thread");
	began = now_ns();
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(ms_since(began) >= 150 && ms_since(began) < 900, "free took %lu ms", ms_since(began));
	pthread_join(thread, NULL);
	EXPECT(err == 0, "signal: %d", err);
	EXPECT(!log_has("peerpin", "dma-buf"), "a log line about an importer that was in time");
	finish();
}

#define LATE "still uses a dma-buf"

/* The free must return although the importer is late. */
static void expect_late(uint64_t began, uint64_t ms)
{
	EXPECT(ms_since(began) >= ms && ms_since(began) < ms + 600, "free took %lu ms", ms_since(began));
	EXPECT_ALL_GONE();
	EXPECT(log_has(LATE, "0000:"), "no log line about the importer");
	EXPECT(drain_timeout("1000") == 0, "parameter");
}

/* The free does not wait for a late notification. So wait until the slot is notified. */
static void wait_notified(unsigned int slot)
{
	int i;

	for (i = 0; i < 500 && !notified(slot); i++)
		usleep(10000);
}

CASE(free_times_out_on_a_fence)
{
	uint64_t began;

	EXPECT(drain_timeout("300") == 0, "parameter");
	start_import(false);
	CHECK_CASE();
	EXPECT(slot_call(DMABUF_CHECK_FENCE, 0) == 0, "fence");
	log_skip();
	began = now_ns();
	EXPECT(emu_free(fd, VA) == 0, "free");
	expect_late(began, 280);
	CHECK_CASE();
	EXPECT(slot_call(DMABUF_CHECK_SIGNAL, 0) == 0, "signal");
	finish();
}

CASE(free_times_out_on_slow_importer)
{
	uint64_t began;

	EXPECT(drain_timeout("300") == 0, "parameter");
	start();
	CHECK_CASE();
	EXPECT(import_slowly(0, whole, 1500) == 0, "import");
	log_skip();
	began = now_ns();
	EXPECT(emu_free(fd, VA) == 0, "free");
	expect_late(began, 280);
	CHECK_CASE();
	wait_notified(0);
	finish();
}

/* The running notification holds the last reference to the export. */
CASE(slow_importer_outlives_memory_and_region)
{
	EXPECT(drain_timeout("50") == 0, "parameter");
	start();
	CHECK_CASE();
	EXPECT(import_slowly(0, whole, 400) == 0, "import");
	EXPECT(close(whole) == 0 && unpin(peerpin, region.out_region) == 0 && emu_free(fd, VA) == 0, "end");
	EXPECT_ALL_GONE();
	EXPECT(drain_timeout("1000") == 0 && detach(0) == 0, "detach");
}

static void *hold_it(void *arg)
{
	*(int *)arg = hold_lock(0, 1500);
	return NULL;
}

CASE(free_times_out_on_the_lock)
{
	pthread_t thread;
	uint64_t began;
	int err = -1;

	EXPECT(drain_timeout("300") == 0, "parameter");
	start_import(false);
	CHECK_CASE();
	EXPECT(!pthread_create(&thread, NULL, hold_it, &err), "thread");
	usleep(100000);
	log_skip();
	began = now_ns();
	EXPECT(emu_free(fd, VA) == 0, "free");
	expect_late(began, 280);
	pthread_join(thread, NULL);
	EXPECT(err == 0, "hold: %d", err);
	wait_notified(0);
	finish();
}

/* Read the memory once more by DMA, then unmap. Before Linux 7.1 the mapping has gone by then. */
static void *read_and_unmap(void *result)
{
	usleep(200000);
	*(int *)result = importers_are_revocable() && !peer_reads(0, 0, 0, 0x77) ? -EIO : unmap(0);
	return NULL;
}

CASE(free_waits_for_the_unmap)
{
	pthread_t thread;
	uint64_t ms;
	int err = -1;

	start_import(false);
	CHECK_CASE();
	EXPECT(emu_fill(fd, VA, 1, 0x77, BLOCK) == 0 && peer_reads(0, 0, 0, 0x77), "contents");
	log_skip();
	EXPECT(!pthread_create(&thread, NULL, read_and_unmap, &err), "thread");
	ms = now_ns();
	EXPECT(emu_free(fd, VA) == 0, "free");
	ms = ms_since(ms);
	pthread_join(thread, NULL);
	EXPECT(err == 0 && !log_has(LATE, "0000:"), "read, unmap: %d", err);
	if (importers_are_revocable())
		EXPECT(ms >= 150 && ms < 900, "free took %lu ms", ms);
	finish();
}

/* Revocable memory is unmapped for an importer that never unmaps. */
CASE(free_times_out_on_the_unmap)
{
	uint64_t ms;

	EXPECT(drain_timeout("300") == 0, "parameter");
	start_import(false);
	CHECK_CASE();
	log_skip();
	ms = now_ns();
	EXPECT(emu_free(fd, VA) == 0, "free");
	ms = ms_since(ms);
	EXPECT_ALL_GONE();
	EXPECT(log_has(LATE, "0000:") == importers_are_revocable(), "the log");
	if (importers_are_revocable())
		EXPECT(ms >= 280 && ms < 900, "free took %lu ms", ms);
	EXPECT(drain_timeout("1000") == 0, "parameter");
	finish();
}

/* ---- two regions ---- */

enum {
	FLOOD = 300,	/* more than the 256 items that a workqueue handles at a time by default; peerpin's handle 512 */
	SMALL = 4096,
	HOLD_MS = 60000,	/* upper limit: a signal ends the hold before */
};

static int flood[FLOOD];

/* Export small parts of the region, map each dma-buf, and add a fence that is never signalled. */
static void start_flood(void)
{
	unsigned int i;

	start();
	for (i = 0; i < FLOOD; i++) {
		CHECK_CASE();
		flood[i] = export_part(region.out_region, i * SMALL, SMALL);
		EXPECT(flood[i] >= 0 && import_as(i, flood[i], DMABUF_CHECK_DYNAMIC, false) == 0, "%u: %d", i, flood[i]);
		EXPECT(slot_call(DMABUF_CHECK_FENCE, i) == 0, "fence %u", i);
	}
}

static void end_flood(void)
{
	unsigned int i;

	for (i = 0; i < FLOOD; i++)
		EXPECT(notified(i) == 1 && detach(i) == 0 && close(flood[i]) == 0, "%u", i);
	EXPECT(close(whole) == 0 && emu_free(fd, VA) == 0, "end");
	sleep(5);	/* wait for the end of the log's rate limit */
}

static void *unpin_flood(void *err)
{
	*(int *)err = unpin(peerpin, region.out_region);
	return NULL;
}

/* All fences together may delay the unpin by one drain timeout only. */
CASE(fences_delay_no_other_regions_importer)
{
	struct peerpin_pin other;
	pthread_t thread;
	uint64_t began;
	int err = -1, one;

	EXPECT(drain_timeout("2000") == 0, "parameter");
	start_flood();
	CHECK_CASE();
	EXPECT(emu_alloc(fd, VA + BLOCK, BLOCK) == 0 && pin_at(peerpin, VA + BLOCK, BLOCK, &other) == 0, "pin");
	one = export_part(other.out_region, 0, BLOCK);
	EXPECT(import_as(FLOOD, one, DMABUF_CHECK_DYNAMIC, true) == 0, "import: %d", one);
	EXPECT(!pthread_create(&thread, NULL, unpin_flood, &err), "thread");
	usleep(500000);
	log_skip();
	began = now_ns();
	EXPECT(emu_free(fd, VA + BLOCK) == 0, "free");
	EXPECT(ms_since(began) < 1000, "free took %lu ms", ms_since(began));
	EXPECT(notified(FLOOD) == 1 && !log_has(LATE, "0000:"), "%u notifications", notified(FLOOD));
	pthread_join(thread, NULL);
	EXPECT(err == 0 && ms_since(began) < 2500, "unpin: %d, %lu ms", err, ms_since(began));
	EXPECT(detach(FLOOD) == 0 && close(one) == 0 && unpin(peerpin, other.out_region) == 0, "detach");
	end_flood();
	EXPECT(drain_timeout("1000") == 0, "parameter");
	EXPECT_ALL_GONE();
}

static void *hold_one_of_flood(void *slot)
{
	return (void *)(intptr_t)hold_lock((uintptr_t)slot, HOLD_MS);
}

static void let_go(int signal)
{
	(void)signal;
}

/*
 * Another driver holds locks of one region's dma-bufs. The notification of another region must not wait for them: its free
 * would take the whole drain timeout. The notification may be late while the workqueue creates a worker for each item
 * that waits for a lock, which takes more than a second on a debug kernel.
 */
CASE(locks_delay_no_other_regions_importer)
{
	struct peerpin_pin other;
	pthread_t thread[FLOOD];
	uint64_t held, took, began;
	uintptr_t i;
	void *err;
	int one;

	signal(SIGUSR1, let_go);
	EXPECT(drain_timeout("6000") == 0, "parameter");
	start();
	for (i = 0; i < FLOOD; i++) {
		CHECK_CASE();
		flood[i] = export_part(region.out_region, i * SMALL, SMALL);
		EXPECT(flood[i] >= 0 && import_as(i, flood[i], DMABUF_CHECK_DYNAMIC, false) == 0, "%lu: %d", i, flood[i]);
	}
	EXPECT(emu_alloc(fd, VA + BLOCK, BLOCK) == 0 && pin_at(peerpin, VA + BLOCK, BLOCK, &other) == 0, "pin");
	one = export_part(other.out_region, 0, BLOCK);
	EXPECT(import_as(FLOOD, one, DMABUF_CHECK_DYNAMIC, true) == 0, "import: %d", one);
	held = now_ns();
	for (i = 0; i < FLOOD; i++)
		EXPECT(!pthread_create(&thread[i], NULL, hold_one_of_flood, (void *)i), "thread");
	usleep(500000);
	EXPECT(drain_timeout("0") == 0, "parameter");
	EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
	EXPECT(drain_timeout("6000") == 0, "parameter");
	log_skip();
	began = now_ns();
	EXPECT(emu_free(fd, VA + BLOCK) == 0, "free");
	EXPECT(ms_since(began) < 3000, "free took %lu ms", ms_since(began));
	EXPECT(notified(FLOOD) == 1 && !log_has(LATE, "0000:"), "%u notifications", notified(FLOOD));
	took = ms_since(held);
	for (i = 0; i < FLOOD; i++)
		EXPECT(!pthread_kill(thread[i], SIGUSR1), "signal");
	for (i = 0; i < FLOOD; i++)
		EXPECT(!pthread_join(thread[i], &err) && !err, "hold %lu: %ld", i, (long)(intptr_t)err);
	for (i = 0; i < FLOOD; i++)
		wait_notified(i);
	EXPECT(detach(FLOOD) == 0 && close(one) == 0 && unpin(peerpin, other.out_region) == 0, "detach");
	end_flood();
	EXPECT(drain_timeout("1000") == 0, "parameter");
	EXPECT_ALL_GONE();
	EXPECT(took < HOLD_MS, "the locks were not held all the time: %lu ms", took);
}

enum {
	TAKERS = 3,
	TAKE_MS = 30,
};

static atomic_bool taking;

/* Take and drop the lock repeatedly, like a driver with short work. */
static void *take_again(void *slot)
{
	while (taking)
		if (hold_lock((uintptr_t)slot, TAKE_MS))
			return "hold";
	return NULL;
}

/* At any time, a thread holds the lock or waits for it. */
CASE(contended_lock_delays_no_notification)
{
	pthread_t thread[TAKERS];
	uint64_t began, took;
	void *failed = NULL;
	uintptr_t i;
	int err;

	EXPECT(drain_timeout("2000") == 0, "parameter");
	start();
	CHECK_CASE();
	for (i = 0; i <= TAKERS; i++)
		EXPECT(import_as(i, whole, DMABUF_CHECK_DYNAMIC, true) == 0, "%lu", i);
	taking = true;
	for (i = 0; i < TAKERS; i++)
		EXPECT(!pthread_create(&thread[i], NULL, take_again, (void *)i), "thread");
	usleep(200000);
	log_skip();
	began = now_ns();
	err = emu_free(fd, VA);
	took = ms_since(began);
	taking = false;
	for (i = 0; i < TAKERS; i++)
		EXPECT(!pthread_join(thread[i], &failed) && !failed, "%s", failed ? (const char *)failed : "join");
	EXPECT(err == 0 && took < 1000 && !log_has(LATE, "0000:"), "free took %lu ms", took);
	EXPECT(notified(TAKERS) == 1, "%u notifications", notified(TAKERS));
	for (i = 0; i <= TAKERS; i++)
		EXPECT(detach(i) == 0, "detach");
	EXPECT(close(whole) == 0 && unpin(peerpin, region.out_region) == 0, "end");
	EXPECT(drain_timeout("1000") == 0, "parameter");
	EXPECT_ALL_GONE();
}

static unsigned char *host_pages(size_t bytes)
{
	void *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED)
		return NULL;
	madvise(m, bytes, MADV_NOHUGEPAGE);	/* a collapse to a huge page would revoke the pin */
	return memset(m, 0x11, bytes);
}

/* Pin and export host memory at @at, and map the dma-buf in @slot. */
static void start_host(int file, unsigned char *at, unsigned int slot, int *dmabuf)
{
	struct peerpin_pin pin;

	EXPECT(pin_by(file, (uintptr_t)at, SMALL, PEERPIN_PROVIDER_HOST, &pin) == 0, "pin %u", slot);
	*dmabuf = export_by_file(file, pin.out_region, 0, SMALL);
	EXPECT(*dmabuf >= 0 && import_as(slot, *dmabuf, DMABUF_CHECK_DYNAMIC, true) == 0, "%u: %d", slot, *dmabuf);
}

/* Make FLOOD regions, each with a fence that is never signalled. */
static void start_host_flood(int file, unsigned char *pages)
{
	unsigned int i;

	for (i = 0; i < FLOOD; i++) {
		start_host(file, pages + i * SMALL, i, &flood[i]);
		CHECK_CASE();
		EXPECT(slot_call(DMABUF_CHECK_FENCE, i) == 0, "fence %u", i);
	}
}

static void end_host_flood(int file)
{
	unsigned int i;

	for (i = 0; i < FLOOD; i++)
		EXPECT(detach(i) == 0 && close(flood[i]) == 0, "%u", i);
	close(file);
}

/* The munmap of many regions must not delay the revocation of another file's region. */
CASE(munmap_flood_delays_no_other_importer)
{
	unsigned char *pages = host_pages(FLOOD * SMALL), *page = host_pages(SMALL);
	int mine = pin_open(), other = pin_open(), one;
	uint64_t began;

	EXPECT(drain_timeout("10000") == 0, "parameter");
	start_host_flood(mine, pages);
	start_host(other, page, FLOOD, &one);
	CHECK_CASE();
	EXPECT(munmap(pages, FLOOD * SMALL) == 0, "munmap of many");
	began = now_ns();
	EXPECT(munmap(page, SMALL) == 0, "munmap");
	wait_notified(FLOOD);
	EXPECT(notified(FLOOD) == 1 && ms_since(began) < 4000, "notified after %lu ms", ms_since(began));
	EXPECT(detach(FLOOD) == 0 && close(one) == 0 && close(other) == 0, "detach");
	end_host_flood(mine);
	EXPECT(drain_timeout("1000") == 0, "parameter");
}

/* ---- imported memory: the exporter waits ---- */

static int node, raw, chip;	/* descriptors of the exporter, of its dma-buf and of the device */

/* Begin DMA of the device to the pinned dma-buf. The DMA outlasts every timeout. */
static void start_overdue(struct peerpin_pin *pin)
{
	struct peer_check c = { 0 };

	EXPECT(!module_load("test/raw_dmabuf.ko", "") && !module_load("test/peer_check.ko", ""), "%s", strerror(errno));
	node = open("/dev/raw_dmabuf", O_RDWR | O_CLOEXEC);
	chip = check_open();
	raw = ioctl(node, RAW_DMABUF_NEW);
	*pin = (struct peerpin_pin){
		.size = sizeof(*pin), .length = SMALL, .provider = PEERPIN_PROVIDER_DMABUF, .fd = raw,
	};
	EXPECT(!ioctl(peerpin, PEERPIN_IOC_PIN, pin), "pin: reason %u", pin->out_reason);
	EXPECT(!check_call(chip, PEER_CHECK_REGISTER, &c), "register");
	c = (struct peer_check){ .fd = peerpin, .region = pin->out_region, .length = SMALL };
	EXPECT(!check_call(chip, PEER_CHECK_HOLD, &c), "hold");
}

static void *take_raw(void *arg)
{
	*(int *)arg = ioctl(node, RAW_DMABUF_TAKE, raw);
	return NULL;
}

static void end_overdue(const struct peerpin_pin *pin)
{
	EXPECT(unpin(peerpin, pin->out_region) == 0, "unpin");
	EXPECT(close(raw) == 0 && close(node) == 0 && close(chip) == 0, "close");
	EXPECT(!module_remove("peer_check") && !module_remove("raw_dmabuf"), "remove");
}

CASE(munmap_flood_delays_no_exporter)
{
	unsigned char *pages = host_pages(FLOOD * SMALL);
	int mine = pin_open(), waited = -1;
	struct peer_check c = { 0 };
	struct peerpin_pin pin;
	pthread_t thread;
	uint64_t began;

	start_overdue(&pin);
	CHECK_CASE();
	start_host_flood(mine, pages);
	CHECK_CASE();
	EXPECT(drain_timeout("100") == 0 && !pthread_create(&thread, NULL, take_raw, &waited), "thread");
	usleep(500000);
	EXPECT(drain_timeout("10000") == 0 && munmap(pages, FLOOD * SMALL) == 0, "munmap of many");
	usleep(500000);
	began = now_ns();
	EXPECT(check_call(chip, PEER_CHECK_END, &c) == 0, "end");
	pthread_join(thread, NULL);
	EXPECT(waited == 1 && ms_since(began) < 4000, "%d after %lu ms", waited, ms_since(began));
	end_overdue(&pin);
	CHECK_CASE();
	end_host_flood(mine);
	EXPECT(drain_timeout("1000") == 0, "parameter");
}

/* The log must not name an importer that has never mapped the dma-buf. */
CASE(log_names_only_mapping_importers)
{
	EXPECT(drain_timeout("200") == 0, "parameter");
	start_import(true);
	CHECK_CASE();
	EXPECT(attach_as(1, whole, DMABUF_CHECK_DYNAMIC, true) == 0, "attach");
	EXPECT(slot_call(DMABUF_CHECK_FENCE, 0) == 0, "fence");
	log_skip();
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(log_lines(LATE, "0000:") == 1, "not exactly one importer in the log");
	EXPECT(detach(1) == 0 && drain_timeout("1000") == 0, "detach");
	finish();
}

/* An importer without a mapping is notified. The free must not wait for its fence. */
CASE(fence_without_mapping_is_ignored)
{
	uint64_t began;

	start_import(false);
	CHECK_CASE();
	EXPECT(slot_call(DMABUF_CHECK_FENCE, 0) == 0 && unmap(0) == 0, "fence");
	log_skip();
	began = now_ns();
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(ms_since(began) < 500 && !log_has(LATE, "0000:"), "free took %lu ms", ms_since(began));
	finish();
}

VMTEST_MAIN

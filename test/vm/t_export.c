// SPDX-License-Identifier: MIT
/* dma-bufs of GPU memory that is revoked when it is freed. */
#include "export.h"

#include <pthread.h>
#include <sys/resource.h>

static int whole;	/* a dma-buf of all of region.out_region, which is the block at VA */
static struct peerpin_pin region;

static void start(void)
{
	EXPECT(emu_alloc(fd, VA, BLOCK) == 0, "alloc");
	EXPECT(pin_at(peerpin, VA, BLOCK, &region) == 0 && region.out_provider == PEERPIN_PROVIDER_NV, "pin");
	whole = export_part(region.out_region, 0, BLOCK);
	EXPECT(whole >= 0, "export: %d", whole);
}

/* Also mapped, in slot 0 */
static void start_import(bool unmap_in_notify)
{
	start();
	CHECK_CASE();
	EXPECT(import_as(0, whole, DMABUF_CHECK_DYNAMIC, unmap_in_notify) == 0, "import");
}

/* Notified once, and nothing works any more */
static void expect_ended(unsigned int slot)
{
	EXPECT(notified(slot) == 1, "slot %u: %u notifications", slot, notified(slot));
	unmap(slot);
	EXPECT(map(slot) == -ENODEV, "slot %u: mapped", slot);
	EXPECT(notified(slot) == 1, "slot %u: %u notifications", slot, notified(slot));
}

#define EXPECT_ALL_GONE() \
	EXPECT(nothing_left() && gpu_pins() == 0, "%lu bytes of BAR1, %lu of VRAM, %u pins", bar1_used(), \
	       vram_used(), gpu_pins())

static void finish(void)
{
	expect_ended(0);
	CHECK_CASE();
	EXPECT(detach(0) == 0 && close(whole) == 0, "detach");
	EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
	EXPECT_ALL_GONE();
}

CASE(nodes_are_there)
{
	EXPECT_EXPORT_NODES();
}

/* ---- the call ---- */

CASE(bad_ranges_are_EINVAL)
{
	uint32_t id;

	start();
	CHECK_CASE();
	id = region.out_region;
	EXPECT(export_part(id, 0, 0) == -EINVAL, "empty");
	EXPECT(export_part(id, 0, 4095) == -EINVAL && export_part(id, 1, 4096) == -EINVAL, "not on pages");
	EXPECT(export_part(id, 0, BLOCK + 4096) == -EINVAL, "too long");
	EXPECT(export_part(id, BLOCK, 4096) == -EINVAL, "behind it");
	EXPECT(export_part(id, 4096, BLOCK) == -EINVAL, "beyond its end");
	EXPECT(export_part(id, -4096ull, 8192) == -EINVAL, "overflow");
	EXPECT(export_part(id + 1, 0, 4096) == -ENOENT, "no such region");
	close(whole);
	EXPECT(unpin(peerpin, id) == 0 && emu_free(fd, VA) == 0, "end");
	EXPECT(export_part(id, 0, 4096) == -ENOENT, "unpinned");
	EXPECT_ALL_GONE();
}

CASE(flags_are_EOPNOTSUPP)
{
	struct peerpin_export c = { .size = sizeof(c), .flags = 1, .length = 4096 };

	EXPECT(ioctl(peerpin, PEERPIN_IOC_EXPORT, &c) && errno == EOPNOTSUPP, "%d", errno);
}

static int export_in_child(void)
{
	return -export_part(region.out_region, 0, 4096);
}

CASE(another_process_is_EACCES)
{
	start();
	CHECK_CASE();
	EXPECT(emu_in_child(export_in_child) == EACCES, "exported");
	close(whole);
	EXPECT(unpin(peerpin, region.out_region) == 0 && emu_free(fd, VA) == 0, "end");
}

CASE(it_is_closed_by_exec)
{
	start();
	CHECK_CASE();
	EXPECT(fcntl(whole, F_GETFD) == FD_CLOEXEC, "%d", fcntl(whole, F_GETFD));
	close(whole);
	EXPECT(unpin(peerpin, region.out_region) == 0 && emu_free(fd, VA) == 0, "end");
}

static int lowest_free_descriptor(void)
{
	int lowest = dup(STDIN_FILENO);

	close(lowest);
	return lowest;
}

CASE(an_answer_that_cannot_be_written_leaves_no_descriptor)
{
	struct peerpin_export *c = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int free = lowest_free_descriptor();

	EXPECT(c != MAP_FAILED && free >= 0, "mmap, dup");
	start();
	CHECK_CASE();
	close(whole);
	*c = (struct peerpin_export){ .size = sizeof(*c), .region = region.out_region, .length = BLOCK };
	mprotect(c, 4096, PROT_READ);
	EXPECT(ioctl(peerpin, PEERPIN_IOC_EXPORT, c) && errno == EFAULT, "errno %d", errno);
	EXPECT(lowest_free_descriptor() == free, "descriptor %d is left", free);
	munmap(c, 4096);
	EXPECT(unpin(peerpin, region.out_region) == 0 && emu_free(fd, VA) == 0, "end");
	EXPECT_ALL_GONE();
}

CASE(revoked_is_ESTALE)
{
	start();
	CHECK_CASE();
	close(whole);
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(export_part(region.out_region, 0, BLOCK) == -ESTALE, "exported");
	EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
	EXPECT_ALL_GONE();
}

/* ---- what an importer sees ---- */

static uint64_t mapped_bytes(unsigned int slot)
{
	unsigned int i, entries = look(slot, 0).out_entries;
	uint64_t bytes = 0;

	for (i = 0; i < entries; i++)
		bytes += look(slot, i).out_length;
	return bytes;
}

CASE(a_device_reaches_the_memory)
{
	unsigned char seen[DMABUF_CHECK_BYTES], want[DMABUF_CHECK_BYTES];

	start_import(true);
	CHECK_CASE();
	EXPECT(mapped_bytes(0) == BLOCK && !look(0, 0).out_has_page, "%lu", mapped_bytes(0));
	EXPECT(emu_fill(fd, VA, 1, 0x5a, BLOCK) == 0 && peer_reads(0, 0, 128, 0x5a), "read");
	EXPECT(peer_write(0, 0, 64, 0xa5) == 0, "write");
	memset(want, 0xa5, sizeof(want));
	EXPECT(emu_read(fd, seen, VA + 64, sizeof(seen)) == 0 && !memcmp(seen, want, sizeof(seen)), "read");
	EXPECT(emu_free(fd, VA) == 0, "free");
	finish();
}

CASE(entries_are_as_long_as_the_device_allows)
{
	EXPECT(limit(1 << 30, 0) == 0 && scatter(false) == 0, "limit");
	start_import(true);
	CHECK_CASE();
	EXPECT(look(0, 0).out_entries == 1 && look(0, 0).out_length == BLOCK, "%u", look(0, 0).out_entries);
	EXPECT(unmap(0) == 0 && limit(0x18fff, 0) == 0 && map(0) == 0, "map");
	EXPECT(look(0, 0).out_length == 0x18000, "not whole pages: %#x", look(0, 0).out_length);
	EXPECT(mapped_bytes(0) == BLOCK && limit(0, 0) == 0 && scatter(true) == 0, "%lu", mapped_bytes(0));
	EXPECT(emu_free(fd, VA) == 0, "free");
	finish();
}

/* Pages of the GPU are filled with their number, from 1. */
static void expect_page(unsigned int entry, unsigned int offset, int page)
{
	EXPECT(peer_reads(0, entry, offset, page), "entry %u + %#x is not page %d", entry, offset, page);
}

CASE(a_part_shows_that_part)
{
	int part, i;

	start();
	CHECK_CASE();
	for (i = 0; i < 8; i++)
		EXPECT(emu_fill(fd, VA + i * PAGE, 1, i + 1, PAGE) == 0, "fill");
	part = export_part(region.out_region, PAGE + 3 * 4096, 2 * PAGE);
	EXPECT(part >= 0 && import_as(0, part, DMABUF_CHECK_DYNAMIC, true) == 0, "import: %d", part);
	EXPECT(mapped_bytes(0) == 2 * PAGE && look(0, 0).out_entries == 3, "%u entries", look(0, 0).out_entries);
	EXPECT(look(0, 0).out_length == PAGE - 3 * 4096 && look(0, 1).out_length == PAGE, "%#x", look(0, 0).out_length);
	expect_page(0, 0, 2);
	expect_page(1, 0, 3);
	expect_page(1, PAGE - DMABUF_CHECK_BYTES, 3);
	expect_page(2, 3 * 4096 - DMABUF_CHECK_BYTES, 4);
	CHECK_CASE();
	EXPECT(emu_free(fd, VA) == 0, "free");
	close(part);
	finish();
}

CASE(a_device_out_of_reach_is_EIO)
{
	if (iommu_translates())
		SKIP("an IOMMU makes everything reachable");
	start();
	CHECK_CASE();
	EXPECT(limit(0, 0xffffff) == 0, "limit");
	EXPECT(import_as(0, whole, DMABUF_CHECK_DYNAMIC, true) == -EIO, "mapped");
	EXPECT(limit(0, 0) == 0 && map(0) == 0, "within reach");
	EXPECT(emu_free(fd, VA) == 0, "free");
	finish();
}

static bool fdinfo_has(const char *what)
{
	char path[64], line[512];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", peerpin);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		found |= !strncmp(line, "peerpin-region:", 15) && strstr(line, what);
	if (f)
		fclose(f);
	return found;
}

CASE(mappings_are_counted)
{
	struct peerpin_query q;

	start_import(true);
	CHECK_CASE();
	EXPECT(query(peerpin, region.out_region, &q) == 0 && q.out_maps == 1, "%u", q.out_maps);
	EXPECT(q.out_attached == 1 && fdinfo_has(" 0000:"), "attached %u", q.out_attached);
	EXPECT(unmap(0) == 0 && map(0) == 0, "again");
	EXPECT(query(peerpin, region.out_region, &q) == 0 && q.out_maps == 2, "%u", q.out_maps);
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(query(peerpin, region.out_region, &q) == 0 && !q.out_attached && !fdinfo_has(" 0000:"), "attached %u",
	       q.out_attached);
	finish();
}

/* ---- who may import ---- */

CASE(who_cannot_be_told_is_refused)
{
	start();
	CHECK_CASE();
	EXPECT(attach_as(0, whole, DMABUF_CHECK_STATIC, false) == -EOPNOTSUPP, "a static one");
	EXPECT(attach_as(0, whole, DMABUF_CHECK_DYNAMIC_NO_P2P, false) == -EOPNOTSUPP, "one that wants pages");
	close(whole);
	EXPECT(unpin(peerpin, region.out_region) == 0 && emu_free(fd, VA) == 0, "end");
	EXPECT_ALL_GONE();
}

/* Where mapping pins by itself, a pin is seen as one too many when it is mapped. */
CASE(a_pinned_mapping_is_refused)
{
	start();
	CHECK_CASE();
	EXPECT(attach_as(0, whole, DMABUF_CHECK_DYNAMIC, true) == 0, "attach");
	if (slot_call(DMABUF_CHECK_PIN, 0) == 0) {
		EXPECT(map(0) == -EOPNOTSUPP, "mapped");
		EXPECT(slot_call(DMABUF_CHECK_UNPIN, 0) == 0, "unpin");
	}
	EXPECT(map(0) == 0, "not pinned any more");
	EXPECT(emu_free(fd, VA) == 0, "free");
	finish();
}

/* ---- its end ---- */

CASE(free_tells_and_the_importer_unmaps)
{
	start_import(true);
	CHECK_CASE();
	EXPECT(notified(0) == 0, "%u", notified(0));
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(notified(0) == 1 && look(0, 0).out_entries == 0, "%u", notified(0));
	EXPECT_ALL_GONE();
	finish();
}

/* Its sg_table stays until it unmaps. */
CASE(free_takes_what_the_importer_keeps)
{
	start_import(false);
	CHECK_CASE();
	EXPECT(emu_fill(fd, VA, 1, 0x77, BLOCK) == 0 && peer_reads(0, 0, 0, 0x77), "contents");
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT_ALL_GONE();
	EXPECT(look(0, 0).out_entries > 0 && mapped_bytes(0) == BLOCK, "%u entries", look(0, 0).out_entries);
	finish();
}

/* What it has made of its table is its own affair. */
CASE(free_takes_what_the_importer_has_cut)
{
	start_import(false);
	CHECK_CASE();
	EXPECT(slot_call(DMABUF_CHECK_CUT, 0) == 0 && mapped_bytes(0) == BLOCK - 4096, "%lu", mapped_bytes(0));
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT_ALL_GONE();
	finish();
}

/* The IOMMU logs that: whoever names this case expects a complaint. */
CASE_BY_NAME(what_was_taken_faults_in_the_iommu)
{
	EXPECT(iommu_translates(), "no IOMMU; type: emu/vm/run --iommu ...");
	start_import(false);
	CHECK_CASE();
	EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
	EXPECT(emu_fill(fd, VA, 1, 0x77, BLOCK) == 0 && !peer_reads(0, 0, 0, 0x77), "still mapped");
	EXPECT(detach(0) == 0 && close(whole) == 0 && emu_free(fd, VA) == 0, "end");
}

CASE(unpin_ends_it)
{
	start_import(false);
	CHECK_CASE();
	EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
	EXPECT(gpu_pins() == 0 && bar1_used() == 0, "%u pins, %lu bytes of BAR1", gpu_pins(), bar1_used());
	expect_ended(0);
	CHECK_CASE();
	EXPECT(detach(0) == 0 && close(whole) == 0 && emu_free(fd, VA) == 0, "end");
	EXPECT_ALL_GONE();
}

CASE(closing_the_file_ends_it)
{
	int file = pin_open();

	EXPECT(emu_alloc(fd, VA, BLOCK) == 0 && pin_at(file, VA, BLOCK, &region) == 0, "pin");
	whole = export_by_file(file, region.out_region, 0, BLOCK);
	EXPECT(whole >= 0 && import_as(0, whole, DMABUF_CHECK_DYNAMIC, true) == 0, "import");
	close(file);
	EXPECT(gpu_pins() == 0, "%u pins", gpu_pins());
	expect_ended(0);
	CHECK_CASE();
	EXPECT(detach(0) == 0 && close(whole) == 0 && emu_free(fd, VA) == 0, "end");
	EXPECT_ALL_GONE();
}

CASE(all_importers_are_told)
{
	int part;

	start_import(false);
	CHECK_CASE();
	part = export_part(region.out_region, PAGE, PAGE);
	EXPECT(import_as(1, whole, DMABUF_CHECK_DYNAMIC, true) == 0, "of the same");
	EXPECT(import_as(2, part, DMABUF_CHECK_DYNAMIC, false) == 0, "of another");
	EXPECT(attach_as(3, part, DMABUF_CHECK_DYNAMIC, false) == 0, "not mapped");
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT_ALL_GONE();
	expect_ended(1);
	expect_ended(2);
	expect_ended(3);
	CHECK_CASE();
	EXPECT(detach(1) == 0 && detach(2) == 0 && detach(3) == 0 && close(part) == 0, "detach");
	finish();
}

CASE(a_dma_buf_may_come_after_the_end)
{
	start();
	CHECK_CASE();
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(attach_as(0, whole, DMABUF_CHECK_DYNAMIC, true) == 0, "attach");
	EXPECT(map(0) == -ENODEV && notified(0) == 0, "mapped");
	EXPECT(detach(0) == 0 && close(whole) == 0 && unpin(peerpin, region.out_region) == 0, "end");
	EXPECT_ALL_GONE();
}

CASE(unpinned_memory_can_be_exported_again)
{
	start_import(true);
	CHECK_CASE();
	EXPECT(unpin(peerpin, region.out_region) == 0 && detach(0) == 0 && close(whole) == 0, "end");
	EXPECT(pin_at(peerpin, VA, BLOCK, &region) == 0, "pin");
	whole = export_part(region.out_region, 0, BLOCK);
	EXPECT(import_as(0, whole, DMABUF_CHECK_DYNAMIC, true) == 0, "import");
	EXPECT(emu_free(fd, VA) == 0, "free");
	finish();
}

/* ---- how many there may be ---- */

enum {
	SHARES = 1024,
};

static int many[SHARES + 1];

/* Each is looked at with interrupts off. */
CASE(dma_bufs_of_a_region_are_limited)
{
	struct rlimit files = { 2 * SHARES, 2 * SHARES };
	unsigned int i;

	start();
	CHECK_CASE();
	EXPECT(setrlimit(RLIMIT_NOFILE, &files) == 0, "limit: %d", errno);
	/* one is there already, and one place is left for an importer */
	for (i = 0; i < SHARES - 2; i++) {
		many[i] = export_part(region.out_region, 0, PAGE);
		EXPECT(many[i] >= 0, "%u: %d", i, many[i]);
	}
	EXPECT(import_as(0, whole, DMABUF_CHECK_DYNAMIC, true) == 0, "import");
	EXPECT(export_part(region.out_region, 0, PAGE) == -EDQUOT, "one more");
	EXPECT(attach_as(1, whole, DMABUF_CHECK_DYNAMIC, true) == -EDQUOT, "one more importer");
	EXPECT(close(many[0]) == 0 && attach_as(1, whole, DMABUF_CHECK_DYNAMIC, true) == 0, "in the place of another");
	EXPECT(detach(1) == 0, "detach");
	for (i = 1; i < SHARES - 2; i++)
		close(many[i]);
	EXPECT(emu_free(fd, VA) == 0, "free");
	finish();
}

/* ---- any order of letting go ---- */

static void let_go_of(int what)
{
	switch (what) {
	case 0:
		EXPECT(detach(0) == 0, "detach");
		break;
	case 1:
		EXPECT(close(whole) == 0, "close");
		break;
	case 2:
		EXPECT(unpin(peerpin, region.out_region) == 0, "unpin");
		break;
	case 3:
		EXPECT(emu_free(fd, VA) == 0, "free");
		break;
	}
}

static void let_go_in_order(const int *order)
{
	int i;

	start_import(order[0] % 2);
	for (i = 0; i < 4; i++) {
		CHECK_CASE();
		let_go_of(order[i]);
	}
	EXPECT(nothing_left() && gpu_pins() == 0, "%d%d%d%d: %lu bytes of BAR1", order[0], order[1], order[2], order[3],
	       bar1_used());
}

static bool is_permutation(const int *order)
{
	return (1 << order[0] | 1 << order[1] | 1 << order[2] | 1 << order[3]) == 15;
}

CASE(every_order_of_letting_go)
{
	int i, order[4];

	for (i = 0; i < 256; i++) {
		memcpy(order, (int[4]){ i >> 6, i >> 4 & 3, i >> 2 & 3, i & 3 }, sizeof(order));
		if (!is_permutation(order))
			continue;
		let_go_in_order(order);
		CHECK_CASE();
	}
}

/* ---- importers that take their time ---- */

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
	EXPECT(!log_has("peerpin", "dma-buf"), "named though it was in time");
	finish();
}

#define LATE "has not let go"

/* The memory is gone all the same. */
static void expect_late(uint64_t began, uint64_t ms)
{
	EXPECT(ms_since(began) >= ms && ms_since(began) < ms + 600, "free took %lu ms", ms_since(began));
	EXPECT_ALL_GONE();
	EXPECT(log_has(LATE, "0000:"), "the importer is not named");
	EXPECT(drain_timeout("1000") == 0, "parameter");
}

/* Free has not waited for that. */
static void wait_notified(unsigned int slot)
{
	int i;

	for (i = 0; i < 500 && !notified(slot); i++)
		usleep(10000);
}

CASE(free_does_not_wait_for_ever_for_a_fence)
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

CASE(free_does_not_wait_for_ever_for_a_slow_importer)
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

/* The last reference of the export is the notification's. */
CASE(all_may_be_gone_before_a_slow_importer_is)
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

CASE(free_does_not_wait_for_ever_for_the_lock)
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

/* ---- importers of two regions ---- */

enum {
	FLOOD = 300,	/* more than the 256 items that a workqueue works on at a time */
	SMALL = 4096,
};

static int flood[FLOOD];

/* Dma-bufs of small parts of region, each mapped and with a fence that nobody signals */
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
	sleep(5);	/* as long as the log is limited, where all of them were named */
}

static void *unpin_flood(void *err)
{
	*(int *)err = unpin(peerpin, region.out_region);
	return NULL;
}

/* And all those fences take no longer than one. */
CASE(fences_do_not_keep_another_importer_from_being_told)
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
	EXPECT(import_as(FLOOD, one, DMABUF_CHECK_DYNAMIC, false) == 0, "import: %d", one);
	EXPECT(!pthread_create(&thread, NULL, unpin_flood, &err), "thread");
	usleep(500000);
	log_skip();
	began = now_ns();
	EXPECT(emu_free(fd, VA + BLOCK) == 0, "free");
	EXPECT(ms_since(began) < 1000, "free took %lu ms", ms_since(began));
	EXPECT(notified(FLOOD) == 1 && !log_has("has not let go", "0000:"), "%u notifications", notified(FLOOD));
	pthread_join(thread, NULL);
	EXPECT(err == 0 && ms_since(began) < 2500, "unpin: %d, %lu ms", err, ms_since(began));
	EXPECT(detach(FLOOD) == 0 && close(one) == 0 && unpin(peerpin, other.out_region) == 0, "detach");
	end_flood();
	EXPECT(drain_timeout("1000") == 0, "parameter");
	EXPECT_ALL_GONE();
}

/* Whose device is not at it, is told and not waited for. */
CASE(fences_of_what_is_not_mapped_are_not_waited_for)
{
	uint64_t began;

	start_import(false);
	CHECK_CASE();
	EXPECT(slot_call(DMABUF_CHECK_FENCE, 0) == 0 && unmap(0) == 0, "fence");
	log_skip();
	began = now_ns();
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(ms_since(began) < 500 && !log_has("has not let go", "0000:"), "free took %lu ms", ms_since(began));
	finish();
}

/* ---- other processes ---- */

/* Pins, exports, sends the dma-buf and waits to be killed, or exits when told to. */
static void be_pinner(int sock, bool waits)
{
	int client = emu_open(), file = pin_open();
	struct peerpin_pin pin;
	char byte;

	close(fd);
	close(check);
	close(peerpin);
	if (emu_alloc(client, VA, BLOCK) || emu_fill(client, VA, 1, 0x3c, BLOCK) || pin_at(file, VA, BLOCK, &pin))
		_exit(1);
	if (send_fd(sock, export_by_file(file, pin.out_region, 0, BLOCK)))
		_exit(1);
	if (waits)
		pause();
	if (read(sock, &byte, 1))
		_exit(0);
}

static pid_t start_pinner(int *dmabuf, int *sock, bool waits)
{
	int socks[2];
	pid_t pid;

	*dmabuf = -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks))
		return -1;
	pid = fork();
	if (!pid)
		be_pinner(socks[1], waits);
	close(socks[1]);
	*sock = socks[0];
	*dmabuf = receive_fd(socks[0]);
	return pid;
}

static void expect_death_ends_it(bool killed, bool unmap_in_notify)
{
	int sock, status = 0;
	pid_t pid = start_pinner(&whole, &sock, killed);

	EXPECT(pid > 0 && whole >= 0, "%d", whole);
	EXPECT(import_as(0, whole, DMABUF_CHECK_DYNAMIC, unmap_in_notify) == 0, "import");
	EXPECT(peer_reads(0, 0, 0, 0x3c) && notified(0) == 0, "contents");
	if (killed)
		kill(pid, SIGKILL);
	else if (write(sock, "", 1) != 1)
		EXPECT(0, "write");
	EXPECT(waitpid(pid, &status, 0) == pid && (killed || status == 0), "status %#x", status);
	close(sock);
	EXPECT_ALL_GONE();
	expect_ended(0);
	CHECK_CASE();
	EXPECT(detach(0) == 0 && close(whole) == 0, "detach");
}

CASE(exit_of_the_process_ends_it)
{
	expect_death_ends_it(false, true);
	CHECK_CASE();
	expect_death_ends_it(false, false);
}

CASE(killing_the_process_ends_it)
{
	expect_death_ends_it(true, true);
	CHECK_CASE();
	expect_death_ends_it(true, false);
}

CASE(a_dma_buf_keeps_the_modules)
{
	int nv = module_refs("peerpin_nv"), core = module_refs("peerpin");

	start();
	CHECK_CASE();
	EXPECT(module_refs("peerpin") > core && module_refs("peerpin_nv") > nv, "not held");
	EXPECT(emu_free(fd, VA) == 0 && unpin(peerpin, region.out_region) == 0, "end");
	EXPECT(module_refs("peerpin") > core && module_refs("peerpin_nv") > nv, "not held by a dead one");
	EXPECT(module_remove("peerpin_nv") == -EWOULDBLOCK, "removed");
	EXPECT(close(whole) == 0, "close");
	usleep(100000);
	EXPECT(module_refs("peerpin") == core && module_refs("peerpin_nv") == nv, "still held: %d and %d, before %d and %d",
	       module_refs("peerpin"), module_refs("peerpin_nv"), core, nv);
}

/* ---- races ---- */

/* Until it has ended; the error that says so, or another */
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

CASE(ending_while_it_is_mapped)
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

CASE(ending_while_it_is_closed)
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

CASE(ending_while_it_is_detached)
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

/* Mapped and then notified, or refused: never mapped and left so */
CASE(ending_while_it_is_imported)
{
	pthread_t thread;
	int i, err = -1;

	for (i = 0; i < 100; i++) {
		start();
		CHECK_CASE();
		EXPECT(!pthread_create(&thread, NULL, import_it, &err), "thread");
		usleep(i % 10 * 20);
		EXPECT(emu_free(fd, VA) == 0, "free");
		pthread_join(thread, NULL);
		EXPECT(err == -ENODEV || (err == 0 && notified(0) == 1), "%d, %u notifications", err, notified(0));
		EXPECT(look(0, 0).out_entries == 0, "left mapped");
		EXPECT(detach(0) == 0 && close(whole) == 0 && unpin(peerpin, region.out_region) == 0, "end");
		EXPECT_ALL_GONE();
	}
}

/* The owner frees and unpins at the same time: both end it, and both wait for the importer. */
static void *unpin_it(void *result)
{
	*(int *)result = unpin(peerpin, region.out_region);
	return NULL;
}

CASE(freeing_while_it_is_unpinned)
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

VMTEST_MAIN

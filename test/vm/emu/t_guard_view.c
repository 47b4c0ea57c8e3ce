// SPDX-License-Identifier: MIT
/* The guard and the stash with CPU mappings of GPU memory (emugpu.p2pdma=1, or driver 610 and later). */
#include <stdatomic.h>
#include <sys/mman.h>

#include "test/vm/storage/lends.h"
#include "thread.h"

enum {
	WATCH_MS = 600,
	SHORT_MS = 5,
	ROUNDS = 12,
	ENOTSUPP = P2P_CHECK_ENOTSUPP,
};

static unsigned char contents[PAGE];

SETUP(nodes_are_there)
{
	EXPECT_NODES();
}

/* Map a view. Returns MAP_FAILED with errno set if that fails. */
static unsigned char *view_of(uint64_t va, uint64_t length)
{
	struct emugpu_export export = { .va = va, .size = length };
	void *view = MAP_FAILED;

	if (emu_call(fd, EMUGPU_IOC_EXPORT, &export))
		return view;
	view = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, export.out_fd, 0);
	close(export.out_fd);
	return view;
}

static void *revoke_block(void *unused)
{
	(void)unused;
	return (void *)(intptr_t)emu_revoke(fd, VA);
}

/* Start to revoke the pin at VA. Returns while the guard watches. */
static void revoke_begin(pthread_t *thread)
{
	EXPECT(!emu_guard(fd, WATCH_MS) && !pthread_create(thread, NULL, revoke_block, NULL), "guard, thread");
	while (!callback(0).out_count)
		usleep(1000);
	usleep(WATCH_MS * 1000 / 4);
}

static void revoke_end(pthread_t thread)
{
	void *result;

	pthread_join(thread, &result);
	EXPECT(!result && !emu_guard(fd, 0), "revoke, off");
}

static unsigned char *view;

/* Allocate and map a block, fill its first page with 99, and pin the page. The view is not yet touched. */
static void one_pinned_view(void)
{
	one_block();
	CHECK_CASE();
	memset(contents, 99, sizeof(contents));
	EXPECT(!emu_write(fd, VA, contents, PAGE), "write");
	EXPECT(lends_as_it_must(), "the GPU has no struct pages although the kernel supports them");
	view = view_of(VA, BLOCK);
	if (view == MAP_FAILED && errno == ENOTSUPP && !emu_free(fd, VA))
		SKIP("GPU 0 has no struct pages: no p2pdma=1, or no PCI_P2PDMA; type: make check KERNEL=7");
	EXPECT(view != MAP_FAILED && !get(0, VA, PAGE), "view, get: %s", strerror(errno));
}

static void use_during_the_guard(bool touched)
{
	unsigned char first, written;
	pthread_t thread;

	rules_watch(fd);
	one_pinned_view();
	CHECK_CASE();
	if (touched)
		view[0] = 99;
	revoke_begin(&thread);
	CHECK_CASE();
	first = *(volatile unsigned char *)view;
	view[1] = 100;
	revoke_end(thread);
	CHECK_CASE();
	EXPECT(first == 99, "%u was seen", first);
	EXPECT_NO_BREACH(fd);
	EXPECT(!emu_read(fd, &written, VA + 1, 1) && written == 100, "%u was written", written);
	munmap(view, BLOCK);
	free_one();
}

/* The view must show no guard pattern. A write through the view is no breach and must not be lost. */
CASE(view_works_during_the_guard)
{
	use_during_the_guard(false);
}

/* An access waits for nothing if the page was accessed before. */
CASE(touched_view_works_during_the_guard)
{
	use_during_the_guard(true);
}

static atomic_bool stop;

/*
 * Map and unmap the dma-buf until @stop. During a watch, mmap() waits with the mmap lock held. At other times the lock is
 * mostly free, so that the guard gets it.
 */
static void *map_on(void *dmabuf)
{
	long bad = 0;
	void *at;

	while (!stop) {
		at = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, *(int *)dmabuf, 0);
		bad += at == MAP_FAILED || munmap(at, PAGE);
		usleep(500);
	}
	return (void *)bad;
}

static int export_of(uint64_t va)
{
	struct emugpu_export export = { .va = va, .size = PAGE };

	return emu_call(fd, EMUGPU_IOC_EXPORT, &export) ? -1 : export.out_fd;
}

/* The driver keeps a CPU mapping of one block. Meanwhile, a thread of this process maps views of another block. */
CASE(waiting_process_is_searched_later)
{
	struct emugpu_test at, guard = { .op = EMUGPU_TEST_GUARD, .guard = { .ms = SHORT_MS, .mapped = 1 } };
	unsigned int i;
	pthread_t thread;
	void *kept, *bad;
	int dmabuf;

	rules_watch(fd);
	EXPECT(!emu_alloc(fd, VA, BLOCK) && !emu_alloc(fd, VA + BLOCK, BLOCK), "alloc");
	kept = view_of(VA + BLOCK, PAGE);
	if (kept == MAP_FAILED && errno == ENOTSUPP && !emu_free(fd, VA) && !emu_free(fd, VA + BLOCK))
		SKIP("GPU 0 has no struct pages: no p2pdma=1, or no PCI_P2PDMA; type: make check KERNEL=7");
	EXPECT(kept != MAP_FAILED && !munmap(kept, PAGE), "view: %s", strerror(errno));
	dmabuf = export_of(VA + BLOCK);
	EXPECT(dmabuf >= 0 && !emu_translate(fd, VA, &at), "export, translate");
	kept = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, check, at.translate.out_phys);
	EXPECT(kept != MAP_FAILED && !emu_test(fd, &guard), "mmap, guard: %s", strerror(errno));
	stop = false;
	EXPECT(!pthread_create(&thread, NULL, map_on, &dmabuf), "thread");
	for (i = 0; i < ROUNDS; i++) {
		EXPECT(!get(0, VA, PAGE) && !emu_revoke(fd, VA), "revoke");
		EXPECT_BROKE(fd, EMUGPU_RULE_MAPPED_AFTER_CALLBACK, 1);
	}
	EXPECT(!munmap(kept, PAGE) && !get(0, VA, PAGE) && !emu_revoke(fd, VA), "no mapping");
	EXPECT_NO_BREACH(fd);
	stop = true;
	pthread_join(thread, &bad);
	EXPECT(!bad && !close(dmabuf) && !emu_guard(fd, 0), "%ld calls failed", (long)bad);
	free_both();
}

CASE(stash_spares_mapped_memory)
{
	unsigned char first, written;
	unsigned int changed;

	one_pinned_view();
	CHECK_CASE();
	EXPECT(!emu_stash(fd, 1, &changed), "on");
	first = *(volatile unsigned char *)view;
	view[1] = 100;
	EXPECT(!emu_stash(fd, 0, &changed) && !changed, "%u pages changed", changed);
	EXPECT(first == 99, "%u was seen", first);
	EXPECT(!emu_read(fd, &written, VA + 1, 1) && written == 100, "%u was written", written);
	munmap(view, BLOCK);
	free_one();
}

VMTEST_MAIN

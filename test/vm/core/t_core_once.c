// SPDX-License-Identifier: MIT
/*
 * Threads that need the same thing at the same moment: one thread makes it, the others wait. If each thread
 * made its own, a process with hundreds of threads would use hundreds of times the memory for a moment.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "test/vm/harness/stall.h"
#include "core.h"
#include "watch.h"

enum {
	DEVICE = 0,
	THREADS = 16,
	ENTRY_BYTES = 16,	/* of a table of watches */
	FIRST_CHUNK = 256,	/* its entries; each chunk has twice as many as the chunk before */
	SMALL_CHUNK = 1 << 12,	/* smaller chunks are allocated too quickly for a race */
	LAST_CHUNK = 1 << 14,
};

static int fd;

SETUP(everything_is_there)
{
	EXPECT_CORE();
	fd = pin_open();
	watch_fd = pin_open();
	EXPECT(fd >= 0 && watch_fd >= 0 && !core_register(DEVICE), "%d %d", fd, watch_fd);
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP("one processor");
	EXPECT_CLEAN();
}

/* ---- allocations ----------------------------------------------------------------------- */

#define KMALLOC TRACING "events/kmem/kmalloc/"

/* Count allocations of @bytes from now on. */
static int count_allocations(unsigned int bytes)
{
	char filter[64];

	snprintf(filter, sizeof(filter), "bytes_req == %u", bytes);
	return text_to(KMALLOC "filter", filter, 0) ?: text_to(TRACING "trace", "\n", O_TRUNC) ?:
	       text_to(KMALLOC "enable", "1", 0);
}

static unsigned int allocations(void)
{
	FILE *f = fopen(TRACING "trace", "re");
	unsigned int n = 0;
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		n += !!strstr(line, "kmalloc: ");
	if (f)
		fclose(f);
	return n;
}

static int count_no_allocations(void)
{
	return text_to(KMALLOC "enable", "0", 0) ?: text_to(KMALLOC "filter", "0", 0);
}

/* ---- threads ---------------------------------------------------------------------- */

static atomic_int waiting, failed;

static void run_at_once(void *(*run)(void *))
{
	pthread_t threads[THREADS];
	unsigned int i;

	atomic_store(&waiting, THREADS);
	atomic_store(&failed, 0);
	for (i = 0; i < THREADS; i++)
		EXPECT(!pthread_create(&threads[i], NULL, run, (void *)(uintptr_t)i), "thread");
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	EXPECT(!atomic_load(&failed), "a thread failed: %d", atomic_load(&failed));
}

static void await_others(void)
{
	atomic_fetch_sub(&waiting, 1);
	while (atomic_load(&waiting) > 0)
		sched_yield();
}

/* ---- the cases -------------------------------------------------------------------- */

static char *watched;

static void *watch_one(__attribute__((unused)) void *arg)
{
	struct peerpin_watch w;
	int ret;

	await_others();
	ret = watch_at(watch_fd, watched, WATCH_PAGE, &w);
	if (ret)
		atomic_store(&failed, ret);
	return NULL;
}

CASE(a_table_grows_by_one_chunk)
{
	unsigned int entries = FIRST_CHUNK, watches = 0, chunks = 0, allocated = 0, events = 0;
	struct peerpin_watch w;

	watched = watch_anonymous();
	EXPECT(watched, "mmap");
	for (; entries <= LAST_CHUNK; entries *= 2) {
		EXPECT(!count_allocations(entries * ENTRY_BYTES), "trace: %s", strerror(errno));
		if (entries >= SMALL_CHUNK) {
			run_at_once(watch_one);
			CHECK_CASE();
			watches += THREADS;
			allocated += allocations();
			chunks++;
		}
		for (; watches < 2 * entries - FIRST_CHUNK; watches++)
			EXPECT(!watch_at(watch_fd, watched, WATCH_PAGE, &w), "watch %u: %d", watches, errno);
		if (entries < SMALL_CHUNK)
			events = allocations();	/* of one allocation: some kernels record two */
	}
	munmap(watched, 3 * WATCH_BYTES);
	EXPECT(events && allocated == events * chunks, "%u events for %u chunks; one thread: %u", allocated, chunks, events);
}

static struct peerpin_pin pin;
static int files[THREADS];

static void *attach(void *arg)
{
	int file = files[(uintptr_t)arg], ret;

	await_others();
	ret = core_get(file, fd, pin.out_region) ?: core_do(file, CORE_CHECK_ATTACH, DEVICE);
	if (ret)
		atomic_store(&failed, ret);
	return NULL;
}

/* The first thread sleeps before it maps, so all others come meanwhile. */
CASE(one_thread_maps_the_region)
{
	char *memory = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int i;
	int maps;

	EXPECT(memory != MAP_FAILED, "mmap");
	madvise(memory, BLOCK, MADV_NOHUGEPAGE);	/* splitting a huge page would revoke the pin */
	memset(memory, 1, BLOCK);
	EXPECT(!pin_by(fd, (uintptr_t)memory, BLOCK, PEERPIN_PROVIDER_HOST, &pin), "pin");
	for (i = 0; i < THREADS; i++)
		files[i] = core_open();
	EXPECT(!stall("pp_map_make", 500), "stall: %d", errno);
	run_at_once(attach);
	maps = stall_count();
	stall_end();
	for (i = 0; i < THREADS; i++)
		close(files[i]);
	EXPECT(!unpin(fd, pin.out_region) && !munmap(memory, BLOCK), "unpin");
	EXPECT(maps == 1, "%d threads map one region", maps);
}

CASE(nothing_is_left)
{
	EXPECT(!count_no_allocations(), "trace: %s", strerror(errno));
	EXPECT(!close(watch_fd) && !core_unregister(DEVICE), "unregister");
	EXPECT_CLEAN();
}

VMTEST_MAIN

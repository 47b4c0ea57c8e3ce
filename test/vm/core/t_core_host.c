// SPDX-License-Identifier: MIT
/*
 * A process changes its own memory while the memory is pinned. The address may get other pages. DMA
 * in flight must never lose the pinned pages.
 */
#include <stdint.h>

#include "core.h"

enum {
	DEVICE = 0,
	SIZE = 1 << 20,
	REGIONS = 8,
	DRAIN_MS = 400,
};

static int fd, lsi;

SETUP(everything_is_there)
{
	EXPECT_CORE();
	fd = pin_open();
	lsi = lsi_open();
	EXPECT(fd >= 0 && lsi >= 0, "%d %d", fd, lsi);
	EXPECT(!core_register(DEVICE), "register");
	EXPECT_CLEAN();
}

static long pinned_kib(void)
{
	char line[128];
	long kib = -1;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmPin: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

static char *memory_at(char *there)
{
	char *m = mmap(there, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (m == MAP_FAILED)
		return NULL;
	madvise(m, SIZE, MADV_NOHUGEPAGE);	/* splitting a huge page would revoke the pin, too */
	memset(m, 0x5a, SIZE);
	return m;
}

static char *memory_new(void)
{
	return memory_at(NULL);
}

/* ---- events that revoke a region ------------------------------------------------------------ */

static bool by_munmap(char *m)
{
	return !munmap(m, SIZE);
}

static bool by_munmap_of_a_page(char *m)
{
	return !munmap(m + SIZE / 2, PAGE);
}

static bool by_mmap_over_it(char *m)
{
	return mmap(m + SIZE / 2, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == m + SIZE / 2;
}

static bool by_dontneed(char *m)
{
	return !madvise(m, SIZE, MADV_DONTNEED);
}

static bool by_remap_elsewhere(char *m)
{
	char *to = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return mremap(m, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to;
}

static bool by_shrinking(char *m)
{
	return mremap(m, SIZE, SIZE / 2, 0) == m;
}

static const struct {
	const char *name;
	bool (*take)(char *m);
} ways[] = {
	{ "munmap", by_munmap },
	{ "munmap of a page", by_munmap_of_a_page },
	{ "mmap over it", by_mmap_over_it },
	{ "MADV_DONTNEED", by_dontneed },
	{ "mremap", by_remap_elsewhere },
	{ "mremap to less", by_shrinking },
};

enum use { UNUSED, ATTACHED, IN_FLIGHT, STOPPED, USES };

static void use_it(enum use use)
{
	if (use >= ATTACHED)
		EXPECT(!core_do(core, CORE_CHECK_ATTACH, DEVICE), "attach");
	if (use == IN_FLIGHT)
		EXPECT(!core_begin(core, DEVICE, 0, 0, SIZE), "begin");
	if (use == STOPPED)
		EXPECT(!core_begin_until_stopped(core, DEVICE, 0, SIZE), "begin");
}

static bool wait_for_pinned(long kib)
{
	int i;

	for (i = 0; i < 200 && pinned_kib() != kib; i++)
		usleep(10000);
	return pinned_kib() == kib;
}

static void expect_revoked(enum use use, long before)
{
	EXPECT(use == UNUSED || core_begin(core, DEVICE, 1, 0, PAGE) == -ESTALE, "begin");
	if (use == IN_FLIGHT) {
		EXPECT(core_stale(core, 0) == 1, "stale");
		EXPECT(pinned_kib() == before + SIZE / 1024, "pages were unpinned during DMA");
		EXPECT(!core_end(core, 0), "end");
	}
	EXPECT(wait_for_pinned(before), "%ld KiB pinned, before %ld", pinned_kib(), before);
	EXPECT(use == UNUSED || !core_do(core, CORE_CHECK_DETACH, DEVICE), "detach");
	EXPECT(core_do(core, CORE_CHECK_ATTACH, DEVICE) == -ESTALE, "attach");
	EXPECT(!core_do(core, CORE_CHECK_UNPIN, 0), "unpin");
}

static void check_way(bool (*take)(char *), enum use use)
{
	long before = pinned_kib();
	char *m = memory_new();

	EXPECT(m && !core_pin(core, (uintptr_t)m, SIZE), "pin");
	use_it(use);
	CHECK_CASE();
	EXPECT(take(m), "%s", strerror(errno));
	expect_revoked(use, before);
	munmap(m, SIZE);
}

CASE(every_unmap_revokes_the_region)
{
	unsigned int way;
	enum use use;

	for (way = 0; way < sizeof(ways) / sizeof(ways[0]); way++) {
		for (use = UNUSED; use < USES; use++) {
			check_way(ways[way].take, use);
			if (vmtest_result != VMTEST_OK)
				printf("# %s, use %d\n", ways[way].name, use);
			CHECK_CASE();
		}
	}
	EXPECT_CLEAN();
}

/* ---- events that do not revoke ------------------------------------------------------------------ */

static struct peerpin_pin from, to;

static void pin_both(char *m)
{
	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !pin_at(fd, GPU_A, SIZE, &to), "pin");
	EXPECT(m && !pin_at(fd, (uintptr_t)m, SIZE, &from), "pin");
}

static void unpin_both(char *m)
{
	EXPECT(!unpin(fd, from.out_region) && !unpin(fd, to.out_region), "unpin");
	EXPECT(!munmap(m, SIZE) && !emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

/* The device must read the bytes that the CPU sees at @m. */
static void expect_same(const char *m)
{
	static char seen[SIZE];

	EXPECT(!lsi_copy(lsi, (struct end){ fd, to.out_region, 0 }, (struct end){ fd, from.out_region, 0 }, SIZE), "copy");
	EXPECT(!emu_read(gpu, seen, GPU_A, SIZE), "read");
	EXPECT(!memcmp(seen, m, SIZE), "the device sees other memory");
}

static int write_as_child(char *m)
{
	memset(m, 0x11, SIZE);
	_exit(m[SIZE - 1] != 0x11);
}

/* Whether parent or child writes first, the child gets its own copy. The device uses the parent's pages. */
static void fork_and_write(char *m, bool child, bool parent)
{
	int status, go[2];
	pid_t pid;

	EXPECT(!pipe(go), "pipe");
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (read(go[0], &status, 1))
			_exit(1);
		_exit(child ? write_as_child(m) : 0);
	}
	if (parent)
		memset(m, 0x22, SIZE);
	expect_same(m);
	close(go[0]);
	close(go[1]);
	EXPECT(waitpid(pid, &status, 0) == pid && !status, "child %#x", status);
	expect_same(m);
	m[5] ^= 1;
	expect_same(m);
}

CASE(fork_leaves_pinned_pages_to_parent)
{
	char *m = memory_new();
	unsigned int i;

	pin_both(m);
	for (i = 0; i < 4 && vmtest_result == VMTEST_OK; i++)
		fork_and_write(m, i & 1, i & 2);
	CHECK_CASE();
	unpin_both(m);
}

/* Before the pin, parent and child share the pages. The pin must break the sharing. */
CASE(pin_unshares_pages_from_child)
{
	char *m = memory_new();
	int status, go[2];
	pid_t pid;

	EXPECT(m && !pipe(go), "pipe");
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (read(go[0], &status, 1))
			_exit(1);
		_exit(m[0] != 0x5a || m[SIZE - 1] != 0x5a);
	}
	pin_both(m);
	CHECK_CASE();
	memset(m, 0x33, SIZE);
	expect_same(m);
	close(go[0]);
	close(go[1]);
	EXPECT(waitpid(pid, &status, 0) == pid && !status, "child %#x", status);
	expect_same(m);
	CHECK_CASE();
	unpin_both(m);
}

CASE(mprotect_and_growth_do_not_revoke)
{
	char *room = mmap(NULL, 2 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *m;

	EXPECT(room != MAP_FAILED && !munmap(room, 2 * SIZE), "room to grow");
	m = memory_at(room);
	EXPECT(m == room, "%s", strerror(errno));
	pin_both(m);
	CHECK_CASE();
	EXPECT(!mprotect(m, SIZE, PROT_READ), "mprotect");
	expect_same(m);
	EXPECT(!mprotect(m, SIZE, PROT_READ | PROT_WRITE), "mprotect");
	m[7] ^= 1;
	expect_same(m);
	CHECK_CASE();
	EXPECT(mremap(m, SIZE, 2 * SIZE, 0) == m, "%s", strerror(errno));
	memset(m, 0x66, 2 * SIZE);
	expect_same(m);
	EXPECT(!munmap(m + SIZE, SIZE), "munmap");
	CHECK_CASE();
	unpin_both(m);
}

/* ---- exec and exit -------------------------------------------------------------------- */

/* DMA is in flight in two files. exec() closes the first file, and the second too if @keep is 0. */
static int run_over(int keep)
{
	int a = core_open(), b = core_open();

	if (keep && fcntl(b, F_SETFD, 0))
		return 1;
	if (core_pin(a, (uintptr_t)memory_new(), SIZE) || core_pin(b, (uintptr_t)memory_new(), SIZE) ||
	    core_do(a, CORE_CHECK_ATTACH, DEVICE) || core_begin_until_stopped(a, DEVICE, 0, SIZE) ||
	    core_do(b, CORE_CHECK_ATTACH, DEVICE) || core_begin(b, DEVICE, 0, 0, SIZE))
		return 2;
	execl("/bin/true", "true", NULL);
	return 3;
}

static int exec_closing_both(void)
{
	return run_over(0);
}

static int exec_keeping_one(void)
{
	return run_over(1);
}

CASE(exec_closes_or_keeps_descriptors)
{
	EXPECT(emu_in_child(exec_closing_both) == 0, "child");
	EXPECT_CLEAN();
	EXPECT(emu_in_child(exec_keeping_one) == 0, "child");
	EXPECT_CLEAN();
}

static int exit_with_dma(void)
{
	int a = core_open();

	return core_pin(a, (uintptr_t)memory_new(), SIZE) || core_do(a, CORE_CHECK_ATTACH, DEVICE) ||
	       core_begin(a, DEVICE, 0, 0, SIZE);
}

/* A child exits while its DMA is in flight. The parent's file keeps the DMA and the region. */
static int exit_with_dma_in_the_parents_file(void)
{
	return core_pin(core, (uintptr_t)memory_new(), SIZE) || core_do(core, CORE_CHECK_ATTACH, DEVICE) ||
	       core_begin(core, DEVICE, 0, 0, SIZE);
}

CASE(exit_with_dma_revokes)
{
	EXPECT(emu_in_child(exit_with_dma) == 0, "child");
	EXPECT_CLEAN();
	EXPECT(emu_in_child(exit_with_dma_in_the_parents_file) == 0, "child");
	EXPECT(core_stale(core, 0) == 1 && core_begin(core, DEVICE, 1, 0, 1) == -ESTALE,
	       "the region of the exited child is not revoked");
	EXPECT(!core_end(core, 0) && !core_do(core, CORE_CHECK_UNPIN, 0), "end");
	EXPECT(!core_do(core, CORE_CHECK_DETACH, DEVICE), "detach");
	EXPECT_CLEAN();
}

/* ---- a process exits while devices use each of its regions --------------------------------- */

static int cores[REGIONS];
static uint64_t *exiting;	/* shared with the child */

static int exit_with_many_regions(void)
{
	int file = pin_open(), ret = file < 0;
	struct peerpin_pin pin;

	for (unsigned int i = 0; i < REGIONS && !ret; i++)
		ret = pin_by(file, (uintptr_t)memory_new(), SIZE, PEERPIN_PROVIDER_HOST, &pin) ||
		      core_get(cores[i], file, pin.out_region) || core_do(cores[i], CORE_CHECK_ATTACH, DEVICE) ||
		      core_begin(cores[i], DEVICE, 0, 0, SIZE);
	*exiting = now_ns();
	return ret;
}

static int set_drain_timeout(unsigned int ms)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", ms);
	return module_set("peerpin/parameters/drain_timeout_ms", text);
}

static void end_many(void)
{
	for (unsigned int i = 0; i < REGIONS; i++) {
		EXPECT(core_stale(cores[i], 0) == 1, "region %u is not revoked", i);
		EXPECT(!core_end(cores[i], 0) && !core_do(cores[i], CORE_CHECK_DETACH, DEVICE) &&
		       !core_do(cores[i], CORE_CHECK_PUT, 0), "region %u", i);
		close(cores[i]);
	}
}

/* The parent's files keep the DMA. A core that waited for one region after the other would take REGIONS * DRAIN_MS. */
CASE(exit_waits_one_drain_timeout)
{
	uint64_t took;

	exiting = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (unsigned int i = 0; i < REGIONS; i++)
		cores[i] = core_open();
	EXPECT(!set_drain_timeout(DRAIN_MS), "drain_timeout_ms");
	EXPECT(emu_in_child(exit_with_many_regions) == 0, "child");
	took = (now_ns() - *exiting) / 1000000;
	EXPECT(!set_drain_timeout(1000), "drain_timeout_ms");
	end_many();
	CHECK_CASE();
	EXPECT(took < REGIONS * DRAIN_MS / 2, "%lu ms for %d regions", took, REGIONS);
	EXPECT_CLEAN();
}

CASE(nothing_is_left)
{
	EXPECT(!core_unregister(DEVICE), "unregister");
	close(fd);
	close(lsi);
	EXPECT_CLEAN();
}

VMTEST_MAIN

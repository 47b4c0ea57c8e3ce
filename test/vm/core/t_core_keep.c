// SPDX-License-Identifier: MIT
/*
 * The owner of a file of /dev/peerpin has exited or closed its descriptor, but a reference is left: in a table of
 * descriptors that clone() shares, in io_uring, or of a pipe to a page of the revocation page. The regions end at the
 * last close, and no freed object is used afterwards.
 */
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "core.h"
#include "test/vm/harness/uring.h"

enum {
	DEVICE = 0,
};

static char *host;
static struct kept {
	int gpu, file;
	uint32_t region;
} *kept;	/* shared with children */

SETUP(everything_is_there)
{
	EXPECT_CORE();
	host = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	kept = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT(host != MAP_FAILED && kept != MAP_FAILED && !core_register(DEVICE), "%s", strerror(errno));
	EXPECT_CLEAN();
}

/* ---- clone(CLONE_FILES) -------------------------------------------------------------- */

static int pin_persistently(void)
{
	struct peerpin_pin p = {
		.size = sizeof(p), .addr = GPU_B, .length = BLOCK, .flags = PEERPIN_PIN_PERSISTENT,
	};

	kept->gpu = emu_open();
	kept->file = pin_open();
	if (emu_alloc(kept->gpu, GPU_B, BLOCK) || ioctl(kept->file, PEERPIN_IOC_PIN, &p))
		return 1;
	kept->region = p.out_region;
	return 0;
}

/* The exit of the owner closes no descriptor, because the parent shares the table. So the pin stays. */
CASE(shared_descriptor_outlives_its_owner)
{
	pid_t pid = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	struct emugpu_test t;
	int status;

	if (!pid)
		_exit(pin_persistently());
	EXPECT(waitpid(pid, &status, 0) == pid && !status, "child: %#x", status);
	EXPECT(!emu_counts(gpu, &t) && t.counts.out_pins == 1, "%u pins", t.counts.out_pins);
	EXPECT(unpin(kept->file, kept->region) == -EACCES, "unpinned by another process");
	EXPECT(!close(kept->file) && !close(kept->gpu), "close");
	EXPECT_CLEAN();
}

/* ---- io_uring ---------------------------------------------------------------------- */

/* A kernel thread makes the last close, and the GPU driver ignores its put. So the GPU's pin may stay until the free. */
CASE(ring_keeps_the_regions)
{
	int file = pin_open(), ring = ring_with(file), i;
	struct peerpin_pin on_gpu, on_host;
	struct emugpu_test t;

	if (ring < 0)
		SKIP("this kernel has no io_uring");
	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !pin_at(file, GPU_A, BLOCK, &on_gpu), "pin");
	EXPECT(!pin_at(file, (uintptr_t)host, PAGE, &on_host), "pin");
	EXPECT(!core_get(core, file, on_host.out_region) && !core_do(core, CORE_CHECK_ATTACH, DEVICE), "attach");
	close(file);
	EXPECT(!core_begin(core, DEVICE, 0, 0, PAGE) && !core_end(core, 0), "the region has ended");
	close(ring);
	for (i = 0; i < 200 && !core_begin(core, DEVICE, 0, 0, PAGE); i++) {
		EXPECT(!core_end(core, 0), "end");
		usleep(10000);
	}
	EXPECT(core_begin(core, DEVICE, 0, 0, PAGE) == -ESTALE, "the region has not ended");
	EXPECT(!core_do(core, CORE_CHECK_DETACH, DEVICE) && !core_do(core, CORE_CHECK_PUT, 0), "detach");
	EXPECT(!emu_counts(gpu, &t) && t.counts.out_pins <= 1, "%u pins", t.counts.out_pins);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

/* @core is the parent's, so its DMA outlives the process. */
static int killed_with_ring_and_dma(void)
{
	int g = emu_open(), file = pin_open(), ring = ring_with(file);
	struct peerpin_pin on_gpu, on_host;

	if (emu_alloc(g, GPU_B, BLOCK) || pin_at(file, GPU_B, BLOCK, &on_gpu) ||
	    pin_at(file, (uintptr_t)host, PAGE, &on_host) || core_get(core, file, on_host.out_region) ||
	    core_do(core, CORE_CHECK_ATTACH, DEVICE) || core_begin(core, DEVICE, 0, 0, PAGE))
		return 1;
	return close(file) || ring < 0 || raise(SIGKILL);
}

CASE(killed_process_with_ring_leaves_nothing)
{
	int file = pin_open(), ring = ring_with(file);

	close(file);
	if (ring < 0)
		SKIP("this kernel has no io_uring");
	close(ring);
	EXPECT(emu_in_child(killed_with_ring_and_dma) == -1, "child");
	EXPECT(core_stale(core, 0) == 1, "the region of the killed process is live");
	EXPECT(!core_end(core, 0) && !core_do(core, CORE_CHECK_DETACH, DEVICE) &&
	       !core_do(core, CORE_CHECK_PUT, 0), "end");
	EXPECT_CLEAN();
}

/* ---- a page in a pipe ----------------------------------------------------------------- */

/* The pipe keeps a page of the revocation page. After the last close this page must get no words of another file. */
CASE(revocation_page_in_a_pipe_stays)
{
	static uint32_t words[PAGE / sizeof(uint32_t)];
	int file = pin_open(), other, ends[2];
	struct iovec page = { .iov_len = PAGE };
	struct peerpin_pin p, q;
	unsigned int i, odd = 0;

	EXPECT(!pipe(ends) && !pin_at(file, (uintptr_t)host, PAGE, &p), "pin: %d", errno);
	page.iov_base = (void *)(uintptr_t)epochs_map(file);
	EXPECT(page.iov_base && vmsplice(ends[1], &page, 1, SPLICE_F_GIFT) == PAGE, "vmsplice: %s", strerror(errno));
	EXPECT(!munmap(page.iov_base, PEERPIN_MAX_REGIONS * sizeof(uint32_t)) && !close(file), "close");
	other = pin_open();
	EXPECT(!pin_at(other, (uintptr_t)host, PAGE, &q), "pin: %d", errno);
	EXPECT(read(ends[0], words, PAGE) == PAGE, "read");
	for (i = 0; i < PAGE / sizeof(uint32_t); i++)
		odd += words[i] % 2;
	EXPECT(words[p.out_slot] == p.out_epoch + 1 && !odd, "%u, pinned as %u, %u words are odd", words[p.out_slot],
	       p.out_epoch, odd);
	close(other);
	close(ends[0]);
	close(ends[1]);
	EXPECT_CLEAN();
}

/* ---- calls for files of a file system ---------------------------------------------------- */

/* @at: a mapping of @file. The file has an address space of its own, without pages. */
static void call_all(int file, const volatile void *at, size_t length)
{
	static const int advices[] = {
		MADV_REMOVE, MADV_FREE, MADV_DONTNEED, 20 /* MADV_COLD */, 21 /* MADV_PAGEOUT */,
		22 /* MADV_POPULATE_READ */, 23 /* MADV_POPULATE_WRITE */, 25 /* MADV_COLLAPSE */, MADV_HUGEPAGE,
		MADV_MERGEABLE, MADV_DOFORK, MADV_DODUMP, MADV_WILLNEED,
	};
	void *p = (void *)(uintptr_t)at;
	unsigned int i;

	for (i = 0; i < sizeof(advices) / sizeof(*advices); i++)
		madvise(p, length, advices[i]);
	for (i = POSIX_FADV_NORMAL; i <= POSIX_FADV_NOREUSE; i++)
		posix_fadvise(file, 0, 0, i);
	readahead(file, 0, length);
	sync_file_range(file, 0, 0, 7);
	syscall(451 /* cachestat */, file, &(uint64_t[2]){ 0, 0 }, &(uint64_t[5]){ 0 }, 0);
	fsync(file);
	ftruncate(file, 0);
	fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, length);
	msync(p, length, MS_SYNC | MS_INVALIDATE);
	mlock(p, length);
	munlock(p, length);
}

CASE(file_calls_leave_region_and_words)
{
	int file = pin_open();
	volatile const uint32_t *words = epochs_map(file);
	struct peerpin_query q;
	struct peerpin_pin p;
	char *view;

	EXPECT(words && !pin_at(file, (uintptr_t)host, PAGE, &p), "pin: %d", errno);
	view = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, PEERPIN_MMAP_OFFSET(p.out_region));
	EXPECT(view != MAP_FAILED, "mmap: %s", strerror(errno));
	strcpy(view, "view");
	call_all(file, words, PAGE);
	call_all(file, view, PAGE);
	EXPECT(!strcmp(host, "view") && !strcmp(view, "view"), "the view is changed");
	EXPECT(words[p.out_slot] == p.out_epoch, "%u, pinned as %u", words[p.out_slot], p.out_epoch);
	EXPECT(!query(file, p.out_region, &q) && q.out_state == PEERPIN_STATE_LIVE, "state %u", q.out_state);
	EXPECT(mremap((void *)(uintptr_t)words, 0, PAGE, MREMAP_MAYMOVE) == MAP_FAILED, "a second mapping by mremap()");
	EXPECT(!munmap(view, PAGE), "munmap");
	EXPECT(!munmap((void *)(uintptr_t)words, PEERPIN_MAX_REGIONS * sizeof(uint32_t)), "munmap");
	close(file);
	EXPECT_CLEAN();
}

CASE(nothing_is_left)
{
	EXPECT(!core_unregister(DEVICE), "unregister");
	EXPECT_CLEAN();
}

VMTEST_MAIN

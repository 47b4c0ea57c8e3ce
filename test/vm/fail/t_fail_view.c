// SPDX-License-Identifier: MIT
/* CPU mappings of /dev/peerpin, while each allocation fails in turn: mmap, faults, mremap, munmap */
#include "fail.h"
#include "test/vm/core/pin.h"

enum {
	PAGE = 4096,
	BLOCK = 2 << 20,
	SIZE = 4 << 20,		/* length that needs more than one page table */
};

static int gpu;
static char *host;

SETUP(everything_is_there)
{
	gpu = emu_open();
	EXPECT(gpu >= 0 && !access("/dev/peerpin", F_OK), "type: emu/vm/run --kernel debug ...");
	EXPECT(!emu_scatter(gpu, 1) && !emu_alloc(gpu, GPU_A, SIZE), "alloc");
	host = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	EXPECT(host != MAP_FAILED, "host memory");
}

static void *map(int fd, uint64_t offset, size_t length, int prot)
{
	return mmap(NULL, length, prot, MAP_SHARED, fd, (off_t)offset);
}

static int try_map(int fd, uint64_t offset, size_t length, void **view)
{
	*view = map(fd, offset, length, PROT_READ);
	return *view == MAP_FAILED ? -errno : 0;
}

/* ---- the revocation page ------------------------------------------------------------- */

CASE(mmap_of_the_revocation_page)
{
	const size_t length = PEERPIN_MAX_REGIONS * sizeof(uint32_t);
	int fd, ret;
	void *p;

	FAIL_EACH(f) {
		fd = pin_open();
		FAIL(f, ret = try_map(fd, 0, length, &p));
		EXPECT_PLAUSIBLE(f, ret);
		if (!ret)
			munmap(p, length);
		close(fd);
	}
}

/* The kernel retries a fault that found no memory. */
CASE(faults_in_the_revocation_page)
{
	volatile const uint32_t *words;
	uint32_t sum = 0;
	int fd;

	FAIL_EACH(f) {
		fd = pin_open();
		words = epochs_map(fd);
		EXPECT(words, "mmap");
		FAIL_ACCESS(f, sum += words[0] + words[PEERPIN_MAX_REGIONS - 1]);
		EXPECT(!sum, "%u", sum);
		munmap((void *)words, PEERPIN_MAX_REGIONS * sizeof(uint32_t));
		close(fd);
	}
}

/* ---- views of regions ------------------------------------------------------------------ */

static void each_mmap(uint64_t addr, unsigned int flags)
{
	struct peerpin_pin p;
	void *view;
	int fd, ret;

	FAIL_EACH(f) {
		fd = pin_open();
		p = (struct peerpin_pin){ .size = sizeof(p), .addr = addr, .length = SIZE, .flags = flags };
		EXPECT(!ioctl(fd, PEERPIN_IOC_PIN, &p), "pin");
		FAIL(f, ret = try_map(fd, PEERPIN_MMAP_OFFSET(p.out_region), SIZE, &view));
		EXPECT_PLAUSIBLE(f, ret);
		if (!ret)
			munmap(view, SIZE);
		EXPECT(!unpin(fd, p.out_region), "allocation %u: unpin", f.nth);
		close(fd);
	}
}

CASE(mmap_of_gpu_memory)
{
	each_mmap(GPU_A, 0);
}

CASE(mmap_of_persistent_gpu_memory)
{
	each_mmap(GPU_A, PEERPIN_PIN_PERSISTENT);
}

CASE(mmap_of_host_memory)
{
	each_mmap((uintptr_t)host, 0);
}

static void each_fault(uint64_t addr)
{
	struct peerpin_pin p;
	volatile char *view;
	int fd;

	FAIL_EACH(f) {
		fd = pin_open();
		EXPECT(!pin_at(fd, addr, SIZE, &p), "pin");
		view = map(fd, PEERPIN_MMAP_OFFSET(p.out_region), SIZE, PROT_READ | PROT_WRITE);
		EXPECT(view != MAP_FAILED, "mmap");
		FAIL_ACCESS(f, view[0] = view[SIZE - PAGE] = f.nth);
		EXPECT(view[0] == (char)f.nth && view[SIZE - PAGE] == (char)f.nth,
		       "allocation %u: the memory lacks the written value", f.nth);
		EXPECT(!unpin(fd, p.out_region), "allocation %u: unpin", f.nth);
		munmap((void *)view, SIZE);
		close(fd);
	}
}

CASE(faults_in_gpu_memory)
{
	each_fault(GPU_A);
}

CASE(faults_in_host_memory)
{
	each_fault((uintptr_t)host);
}

/* ---- changes of views -------------------------------------------------------------- */

static volatile char *view_new(int fd, struct peerpin_pin *p)
{
	volatile char *view = MAP_FAILED;

	if (!pin_at(fd, GPU_A, SIZE, p))
		view = map(fd, PEERPIN_MMAP_OFFSET(p->out_region), SIZE, PROT_READ);
	if (view != MAP_FAILED)
		(void)view[0];
	return view;
}

CASE(munmap_of_a_views_middle)
{
	volatile char *view;
	struct peerpin_pin p;
	int fd, ret;

	FAIL_EACH(f) {
		fd = pin_open();
		view = view_new(fd, &p);
		EXPECT(view != MAP_FAILED, "view");
		FAIL(f, ret = munmap((char *)view + BLOCK, PAGE) ? -errno : 0);
		EXPECT_PLAUSIBLE(f, ret);
		munmap((void *)view, SIZE);
		close(fd);
	}
}

static int move(void *view, void *to)
{
	return mremap(view, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, to) == MAP_FAILED ? -errno : 0;
}

CASE(mremap_of_a_view)
{
	volatile char *view;
	struct peerpin_pin p;
	void *to;
	int fd, ret;

	FAIL_EACH(f) {
		fd = pin_open();
		view = view_new(fd, &p);
		EXPECT(view != MAP_FAILED, "view");
		to = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		FAIL(f, ret = move((void *)view, to));
		EXPECT_PLAUSIBLE(f, ret);
		EXPECT(!unpin(fd, p.out_region), "allocation %u: unpin", f.nth);
		munmap((void *)view, SIZE);
		munmap(to, SIZE);
		close(fd);
	}
}

CASE(unpin_of_a_viewed_region)
{
	volatile char *view;
	struct peerpin_pin p;
	int fd, ret;

	FAIL_EACH(f) {
		fd = pin_open();
		view = view_new(fd, &p);
		EXPECT(view != MAP_FAILED, "view");
		FAIL(f, ret = unpin(fd, p.out_region));
		EXPECT_PLAUSIBLE(f, ret);
		munmap((void *)view, SIZE);
		close(fd);
	}
}

CASE(munmap_after_close_of_file)
{
	volatile char *view;
	struct peerpin_pin p;
	int fd, ret;

	FAIL_EACH(f) {
		fd = pin_open();
		view = view_new(fd, &p);
		EXPECT(view != MAP_FAILED, "view");
		close(fd);
		FAIL(f, ret = munmap((void *)view, SIZE) ? -errno : 0);
		EXPECT_PLAUSIBLE(f, ret);
		munmap((void *)view, SIZE);
	}
}

VMTEST_MAIN

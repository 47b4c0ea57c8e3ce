// SPDX-License-Identifier: MIT
/* /dev/lsi0, the reference driver, while each allocation fails in turn: open, copies of all kinds, close. */
#include "fail.h"
#include "test/vm/core/pin.h"

enum {
	BLOCK = 2 << 20,
	SIZE = 8 << 20,
};

static int gpu;
static char *host;

SETUP(everything_is_there)
{
	int lsi = lsi_open();

	gpu = emu_open();
	EXPECT(gpu >= 0 && lsi >= 0, "type: emu/vm/run --kernel debug -- build/bin/vm/t_fail_copy");
	close(lsi);
	EXPECT(!emu_scatter(gpu, 1) && !emu_alloc(gpu, GPU_A, SIZE) && !emu_alloc(gpu, GPU_B, SIZE), "alloc");
	host = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	EXPECT(host != MAP_FAILED, "host memory");
}

CASE(open_of_lsi)
{
	int lsi, ret;

	FAIL_EACH(f) {
		FAIL(f, ret = (lsi = lsi_open()) < 0 ? -errno : 0);
		EXPECT_PLAUSIBLE(f, ret);
		close(lsi);
	}
}

static int copy(int lsi, int fd, const struct peerpin_pin *dst, const struct peerpin_pin *src)
{
	return lsi_copy(lsi, (struct end){ fd, dst->out_region, 0 }, (struct end){ fd, src->out_region, 0 }, SIZE);
}

/* The first copy maps the regions. After a failed copy, the copy must work at once. */
static void each_first_copy(uint64_t to, uint64_t from)
{
	struct peerpin_pin dst, src;
	int fd, lsi, ret;

	FAIL_EACH(f) {
		fd = pin_open();
		lsi = lsi_open();
		EXPECT(!pin_at(fd, to, SIZE, &dst) && !pin_at(fd, from, SIZE, &src), "pin");
		FAIL(f, ret = copy(lsi, fd, &dst, &src));
		EXPECT(fail_plausible(&f, ret) || (f.fired && ret == -EIO), "allocation %u: %d", f.nth, ret);
		EXPECT(!copy(lsi, fd, &dst, &src), "allocation %u: afterwards", f.nth);
		EXPECT(!unpin(fd, dst.out_region) && !unpin(fd, src.out_region), "unpin");
		close(lsi);
		close(fd);
	}
}

CASE(first_copy_from_gpu_to_gpu)
{
	each_first_copy(GPU_A, GPU_B);
}

CASE(first_copy_from_gpu_to_host)
{
	each_first_copy((uintptr_t)host, GPU_B);
}

CASE(first_copy_from_host_to_gpu)
{
	each_first_copy(GPU_A, (uintptr_t)host);
}

static void each_copy_of_pointers(uint64_t to, uint64_t from)
{
	int lsi = lsi_open(), ret;

	FAIL_EACH(f) {
		FAIL(f, ret = lsi_copy_pointers(lsi, to, from, BLOCK));
		EXPECT(fail_plausible(&f, ret) || (f.fired && ret == -EIO), "allocation %u: %d", f.nth, ret);
		EXPECT(!lsi_copy_pointers(lsi, to, from, BLOCK), "allocation %u: afterwards", f.nth);
	}
	close(lsi);
}

CASE(copy_of_pointers_to_gpu_memory)
{
	each_copy_of_pointers(GPU_A, GPU_B);
}

CASE(copy_of_pointers_to_both_memories)
{
	each_copy_of_pointers(GPU_A, (uintptr_t)host);
}

CASE(close_of_lsi)
{
	int lsi, ret;

	FAIL_EACH(f) {
		lsi = lsi_open();
		EXPECT(!lsi_copy_pointers(lsi, GPU_A, GPU_B, BLOCK), "copy");
		FAIL(f, ret = close(lsi));
		EXPECT_DONE(f, ret);
	}
}

VMTEST_MAIN

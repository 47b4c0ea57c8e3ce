// SPDX-License-Identifier: MIT
/* A driver author's test of /dev/direct0. Exit status 0: passed; 2: wrong data; 1: another failure. */
#include <direct.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include "gpu.h"

enum {
	PAGE = 4096,
	GPU_PAGE = 64 * KIB,
	NEVER = 0x7ffffff0,	/* a handle that never exists */
	SIZE = 4 * MIB,
	DST_SIZE = 3 * MIB,
};

/* A pin of @memory that starts at offset @at */
struct pinned {
	struct memory *memory;
	size_t at;
	uint32_t handle;
};

static int node(void)
{
	int fd = open("/dev/direct0", O_RDWR | O_CLOEXEC);

	NEED(fd >= 0);
	return fd;
}

static struct pinned pin_as(int fd, struct memory *m, size_t at, size_t length, struct direct_pin_args args)
{
	args.va = m->va + at;
	args.length = length;
	NEED(!ioctl(fd, DIRECT_PIN, &args));
	return (struct pinned){ m, at, args.out_handle };
}

static struct pinned pin(int fd, struct memory *m, size_t at, size_t length)
{
	return pin_as(fd, m, at, length, (struct direct_pin_args){ 0 });
}

static int unpin(int fd, uint32_t handle)
{
	struct direct_unpin_args args = { .handle = handle };

	return ioctl(fd, DIRECT_UNPIN, &args) ? errno : 0;
}

static int copy_handles(int fd, uint32_t dst, uint64_t to, uint32_t src, uint64_t from, uint64_t length)
{
	struct direct_copy_args args = { dst, src, to, from, length };

	return ioctl(fd, DIRECT_COPY, &args) ? errno : 0;
}

/* Copy by the chip, and copy the same bytes in the model. */
static void copy(int fd, struct pinned dst, size_t to, struct pinned src, size_t from, size_t length)
{
	NEED(!copy_handles(fd, dst.handle, to, src.handle, from, length));
	memcpy(dst.memory->model + dst.at + to, src.memory->model + src.at + from, length);
}

static void copy_and_look(int fd, struct pinned dst, size_t to, struct pinned src, size_t from, size_t length)
{
	copy(fd, dst, to, src, from, length);
	TRUE_DATA(memory_is_as_modelled(dst.memory));
}

/* ---- tests ------------------------------------------------------------------- */

/* The destination's pin starts at an unaligned address. The source is pinned as a whole. */
static void sizes(int fd, struct pinned dst, struct pinned src)
{
	copy(fd, dst, 0, src, 0, 1);
	copy(fd, dst, 5, src, 3, PAGE + 1);
	copy(fd, dst, GPU_PAGE - 100, src, 2 * GPU_PAGE - 7, 200);
	copy_and_look(fd, dst, 2 * GPU_PAGE + 11, src, 77, GPU_PAGE + 1);
	copy_and_look(fd, dst, 0, src, 1, DST_SIZE);
}

/* Overlapping pins: the first pin determines the position of the second in the BAR. */
static void overlapping(int fd, struct memory *a, struct memory *b)
{
	struct pinned first = pin(fd, a, 3 * GPU_PAGE, 4 * GPU_PAGE);
	struct pinned wide = pin(fd, a, GPU_PAGE + 1, 20 * GPU_PAGE);
	struct pinned to = pin(fd, b, 0, MIB);

	NEED(!unpin(fd, first.handle));
	copy_and_look(fd, to, 9, wide, 17, 15 * GPU_PAGE);
	NEED(!unpin(fd, wide.handle));
	NEED(!unpin(fd, to.handle));
}

/* If the driver accepts a bad copy, no byte of the memory may change: compare with the model. */
static void refused(int fd, struct pinned dst, uint64_t to, struct pinned src, uint64_t from, uint64_t length, int want)
{
	int err = copy_handles(fd, dst.handle, to, src.handle, from, length);

	if (!err)
		TRUE_DATA(memory_is_as_modelled(dst.memory));
	NEED(err == want || err == ESTALE);
}

static void bad_ranges(int fd, struct pinned dst, struct pinned src)
{
	refused(fd, dst, 0, src, 0, 0, EINVAL);
	refused(fd, dst, DST_SIZE, src, 0, 1, EINVAL);
	refused(fd, dst, 0, src, SIZE - 8, 9, EINVAL);
	refused(fd, dst, 0, src, 0, DST_SIZE + 1, EINVAL);
	refused(fd, dst, ~0ull, src, 0, 2, EINVAL);
	refused(fd, dst, GPU_PAGE, src, GPU_PAGE, 0ull - PAGE, EINVAL);
	refused(fd, dst, 100, dst, 0, 200, EINVAL);
}

static void bad_pins(int fd, const struct memory *m)
{
	struct direct_pin_args args = { .va = m->va };

	NEED(ioctl(fd, DIRECT_PIN, &args) && errno == EINVAL);
	args.length = ~0ull - GPU_PAGE + 2;
	NEED(ioctl(fd, DIRECT_PIN, &args) && errno == EINVAL);
	args.length = 64ull << 30;
	NEED(ioctl(fd, DIRECT_PIN, &args) && errno == EINVAL);
	args.va = (uintptr_t)&args;
	args.length = 1;
	NEED(ioctl(fd, DIRECT_PIN, &args) && errno == EINVAL);
}

static void bad_handles(int fd, struct pinned dst, struct pinned src)
{
	struct pinned gone = pin(fd, dst.memory, 0, GPU_PAGE), never = dst;

	NEED(!unpin(fd, gone.handle));
	NEED(unpin(fd, gone.handle) == ENOENT);
	never.handle = NEVER;
	refused(fd, gone, 0, src, 0, PAGE, ENOENT);
	refused(fd, never, 0, src, 0, PAGE, ENOENT);
	refused(fd, dst, 0, never, PAGE, PAGE, ENOENT);
	NEED(unpin(fd, NEVER) == ENOENT);
}

static void *view_of(int fd, struct pinned p, size_t at, size_t length)
{
	void *view = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, DIRECT_MMAP_OFFSET(p.handle) + at);

	NEED(view != MAP_FAILED);
	return view;
}

/* The CPU writes, the chip copies, the CPU reads. Unmap each view in two halves. */
static void views(int fd, struct pinned dst, struct pinned src)
{
	unsigned char *in = view_of(fd, src, GPU_PAGE, 2 * GPU_PAGE), *out = view_of(fd, dst, 0, 3 * GPU_PAGE);
	unsigned char *model = src.memory->model + GPU_PAGE;

	NEED(mmap(NULL, 8 * MIB, PROT_READ, MAP_SHARED, fd, DIRECT_MMAP_OFFSET(src.handle)) == MAP_FAILED);
	memset(model, 0x3c, PAGE);
	memset(model + GPU_PAGE + PAGE, 0xc3, PAGE);
	NEED(view_copy(in, model, PAGE));
	NEED(!munmap(in, GPU_PAGE));
	NEED(view_copy(in + GPU_PAGE + PAGE, model + GPU_PAGE + PAGE, PAGE));
	TRUE_DATA(memory_is_as_modelled(src.memory));
	copy(fd, dst, 0, src, GPU_PAGE, 2 * GPU_PAGE);
	NEED(view_copy(scratch, out + GPU_PAGE, PAGE));
	TRUE_DATA(!memcmp(scratch, dst.memory->model + dst.at / GPU_PAGE * GPU_PAGE + GPU_PAGE, PAGE));
	NEED(!munmap(in + GPU_PAGE, GPU_PAGE));
}

/* The chip must read the memory after earlier GPU work has finished. */
static void after_gpu_work(int fd, struct pinned dst, struct pinned src)
{
	NEED(!cuMemsetD8(src.memory->va, 0x77, GPU_PAGE));
	memset(src.memory->model, 0x77, GPU_PAGE);
	copy_and_look(fd, dst, 100, src, 0, GPU_PAGE);
}

static void by_token(int fd, struct pinned dst, struct memory *m)
{
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;
	struct direct_pin_args args = { 0 };
	struct pinned src;

	NEED(!cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, m->va));
	args.p2p_token = tokens.p2pToken;
	args.va_space = tokens.vaSpaceToken;
	src = pin_as(fd, m, 4321, GPU_PAGE, args);
	copy_and_look(fd, dst, 1, src, 2, GPU_PAGE - 2);
	NEED(!unpin(fd, src.handle));
}

/* A persistent pin keeps freed memory until unpin. */
static void persistent(int fd, struct pinned dst)
{
	struct memory m = memory_new(2 * MIB, 3);
	struct pinned src = pin_as(fd, &m, 0, 2 * MIB, (struct direct_pin_args){ .flags = DIRECT_PERSISTENT });

	copy_and_look(fd, dst, 3, src, 3, MIB);
	NEED(!cuMemFree(m.va));
	copy_and_look(fd, dst, 5, src, 9, MIB);
	NEED(!unpin(fd, src.handle));
	free(m.model);
}

/*
 * Neither the chip nor a partly unmapped CPU view reaches freed memory, even if the GPU driver
 * allocates the address again.
 */
static void freed(int fd, struct pinned other)
{
	struct memory m = memory_new(2 * MIB, 4);
	struct pinned p = pin(fd, &m, 0, 2 * MIB);
	unsigned char *whole = view_of(fd, p, 0, 2 * GPU_PAGE), *view = whole + GPU_PAGE;

	NEED(!munmap(whole, GPU_PAGE));
	copy_and_look(fd, p, 0, other, 0, MIB);
	NEED(view_copy(scratch, view, PAGE));
	memory_free(&m);
	NEED(copy_handles(fd, p.handle, 0, other.handle, 0, PAGE) == ESTALE);
	NEED(copy_handles(fd, other.handle, 0, p.handle, 0, PAGE) == ESTALE);
	TRUE_DATA(!view_copy(scratch, view, PAGE));
	m = memory_new(2 * MIB, 5);
	other = pin(fd, &m, 0, MIB);
	TRUE_DATA(!view_copy(scratch, view, PAGE));
	NEED(!unpin(fd, p.handle));
	p = pin(fd, &m, MIB, MIB);
	copy_and_look(fd, p, 1, other, 0, MIB - 1);
	NEED(!munmap(view, GPU_PAGE));
	NEED(!unpin(fd, p.handle));
	memory_free(&m);
	NEED(!unpin(fd, other.handle));
}

/* Each file has its own pins. Close one file with pins left: the other file keeps its pins. */
static void two_descriptors(int fd, struct memory *a, struct memory *b)
{
	int second = node();
	struct pinned from = pin(second, a, 100, MIB), to = pin(second, b, 0, MIB);

	copy_and_look(second, to, 0, from, 0, MIB);
	from = pin(fd, a, GPU_PAGE, MIB);
	NEED(!close(second));
	to = pin(fd, b, PAGE, MIB);
	copy_and_look(fd, to, 0, from, 1, MIB - 1);
	NEED(!unpin(fd, from.handle));
	NEED(!unpin(fd, to.handle));
}

int main(void)
{
	struct pinned dst, src;
	struct memory a, b;
	int fd;

	gpu_start();
	view_catch();
	fd = node();
	a = memory_new(SIZE, 1);
	b = memory_new(SIZE, 2);
	src = pin(fd, &a, 0, SIZE);
	dst = pin(fd, &b, PAGE + 24, DST_SIZE);
	sizes(fd, dst, src);
	overlapping(fd, &a, &b);
	views(fd, dst, src);
	after_gpu_work(fd, dst, src);
	by_token(fd, dst, &a);
	persistent(fd, dst);
	two_descriptors(fd, &a, &b);
	freed(fd, src);
	bad_handles(fd, dst, src);
	bad_pins(fd, &a);
	bad_ranges(fd, dst, src);
	pin_as(fd, &a, 0, GPU_PAGE, (struct direct_pin_args){ .flags = DIRECT_PERSISTENT });
	copy_and_look(fd, dst, 0, src, 0, DST_SIZE);
	return 0;	/* exits with pins of both kinds and a view left */
}

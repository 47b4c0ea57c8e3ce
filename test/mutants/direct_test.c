// SPDX-License-Identifier: MIT
/* A driver author's test of /dev/direct0. Exit status 0: passed; 2: wrong data; 1: another failure. */
#include <direct.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include "copies.h"

static int node(void)
{
	int fd = open("/dev/direct0", O_RDWR | O_CLOEXEC);

	NEED(fd >= 0);
	return fd;
}

static struct part pin_as(int fd, struct memory *m, size_t at, size_t length, struct direct_pin_args args)
{
	args.va = m->va + at;
	args.length = length;
	NEED(!ioctl(fd, DIRECT_PIN, &args));
	return (struct part){ m, at, args.out_handle };
}

static struct part take(int fd, struct memory *m, size_t at, size_t length)
{
	return pin_as(fd, m, at, length, (struct direct_pin_args){ 0 });
}

static int drop(int fd, uint32_t handle)
{
	struct direct_unpin_args args = { .handle = handle };

	return ioctl(fd, DIRECT_UNPIN, &args) ? errno : 0;
}

static int copy_handles(int fd, uint32_t dst, uint64_t to, uint32_t src, uint64_t from, uint64_t length)
{
	struct direct_copy_args args = { dst, src, to, from, length };

	return ioctl(fd, DIRECT_COPY, &args) ? errno : 0;
}

/* ---- tests ------------------------------------------------------------------- */

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

static void never_pinned(int fd, struct part dst, struct part src)
{
	dst.handle = NEVER;
	refused(fd, dst, 0, src, 0, PAGE, ENOENT);
	NEED(drop(fd, NEVER) == ENOENT);
}

static void *view_of(int fd, struct part p, size_t at, size_t length)
{
	void *view = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, DIRECT_MMAP_OFFSET(p.handle) + at);

	NEED(view != MAP_FAILED);
	return view;
}

/* The CPU writes, the chip copies, the CPU reads. Unmap each view in two halves. */
static void views(int fd, struct part dst, struct part src)
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

static void by_token(int fd, struct part dst, struct memory *m)
{
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;
	struct direct_pin_args args = { 0 };
	struct part src;

	NEED(!cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, m->va));
	args.p2p_token = tokens.p2pToken;
	args.va_space = tokens.vaSpaceToken;
	src = pin_as(fd, m, 4321, GPU_PAGE, args);
	copy_and_look(fd, dst, 1, src, 2, GPU_PAGE - 2);
	NEED(!drop(fd, src.handle));
}

/* A persistent pin keeps freed memory until unpin. */
static void persistent(int fd, struct part dst)
{
	struct memory m = memory_new(2 * MIB, 3);
	struct part src = pin_as(fd, &m, 0, 2 * MIB, (struct direct_pin_args){ .flags = DIRECT_PERSISTENT });

	copy_and_look(fd, dst, 3, src, 3, MIB);
	NEED(!cuMemFree(m.va));
	copy_and_look(fd, dst, 5, src, 9, MIB);
	NEED(!drop(fd, src.handle));
	free(m.model);
}

/*
 * Neither the chip nor a partly unmapped CPU view reaches freed memory, even if the GPU driver
 * allocates the address again.
 */
static void freed(int fd, struct part other)
{
	struct memory m = memory_new(2 * MIB, 4);
	struct part p = take(fd, &m, 0, 2 * MIB);
	unsigned char *whole = view_of(fd, p, 0, 2 * GPU_PAGE), *view = whole + GPU_PAGE;

	NEED(!munmap(whole, GPU_PAGE));
	copy_and_look(fd, p, 0, other, 0, MIB);
	NEED(view_copy(scratch, view, PAGE));
	memory_free(&m);
	NEED(copy_handles(fd, p.handle, 0, other.handle, 0, PAGE) == ESTALE);
	NEED(copy_handles(fd, other.handle, 0, p.handle, 0, PAGE) == ESTALE);
	TRUE_DATA(!view_copy(scratch, view, PAGE));
	m = memory_new(2 * MIB, 5);
	other = take(fd, &m, 0, MIB);
	TRUE_DATA(!view_copy(scratch, view, PAGE));
	NEED(!drop(fd, p.handle));
	p = take(fd, &m, MIB, MIB);
	copy_and_look(fd, p, 1, other, 0, MIB - 1);
	NEED(!munmap(view, GPU_PAGE));
	NEED(!drop(fd, p.handle));
	memory_free(&m);
	NEED(!drop(fd, other.handle));
}

int main(void)
{
	struct part dst, src;
	struct memory a, b;
	int fd;

	gpu_start();
	view_catch();
	fd = node();
	a = memory_new(SIZE, 1);
	b = memory_new(SIZE, 2);
	src = take(fd, &a, 0, SIZE);
	dst = take(fd, &b, PAGE + 24, DST_SIZE);
	sizes(fd, dst, src);
	overlapping(fd, &a, GPU_PAGE + 1, &b);	/* an unaligned address */
	views(fd, dst, src);
	after_gpu_work(fd, dst, src);
	by_token(fd, dst, &a);
	persistent(fd, dst);
	two_descriptors(fd, &a, 100, &b);
	freed(fd, src);
	bad_handles(fd, dst, src);
	never_pinned(fd, dst, src);
	bad_pins(fd, &a);
	bad_ranges(fd, dst, src);
	refused(fd, dst, 0, src, 0, DST_SIZE + 1, EINVAL);
	pin_as(fd, &a, 0, GPU_PAGE, (struct direct_pin_args){ .flags = DIRECT_PERSISTENT });
	copy_and_look(fd, dst, 0, src, 0, DST_SIZE);
	return 0;	/* exits with pins of both kinds and a view left */
}

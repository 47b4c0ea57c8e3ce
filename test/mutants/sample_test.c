// SPDX-License-Identifier: MIT
/* A driver author's test of /dev/lsi0. Exit status 0: passed; 2: wrong data; 1: another failure. */
#include <errno.h>
#include <fcntl.h>
#include <peerpin.h>
#include <peerpin_lsi.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include "gpu.h"

enum {
	PAGE = 4096,
	GPU_PAGE = 64 * KIB,
	SIZE = 4 * MIB,
	NEVER = PEERPIN_MAX_REGIONS - 1,	/* a region that never exists */
};

/* Source or destination of a copy in @memory. For host memory, @va is the address of the model. */
struct place {
	struct memory *memory;
	struct peerpin_lsi_end end;
	size_t at;	/* offset in the memory that end.offset means */
	bool pointer;
};

static int lsi, core;

static int node(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);

	NEED(fd >= 0);
	return fd;
}

static struct place pin_as(int fd, struct memory *m, size_t at, size_t length, struct peerpin_pin p)
{
	p.size = sizeof(p);
	p.addr = m->va + at;
	p.length = length;
	NEED(!ioctl(fd, PEERPIN_IOC_PIN, &p));
	return (struct place){ m, { fd, p.out_region, m->va + at - p.out_addr }, at, false };
}

static struct place pin(int fd, struct memory *m, size_t at, size_t length)
{
	return pin_as(fd, m, at, length, (struct peerpin_pin){ 0 });
}

static void unpin(const struct place *p)
{
	struct peerpin_unpin u = { .size = sizeof(u), .region = p->end.region };

	NEED(!ioctl(p->end.fd, PEERPIN_IOC_UNPIN, &u));
}

/* Without a region: the driver pins the memory for each copy. */
static struct place pointer(struct memory *m, size_t at)
{
	return (struct place){ m, { 0, 0, m->va + at }, at, true };
}

static struct place further(struct place p, size_t bytes)
{
	p.end.offset += bytes;
	p.at += bytes;
	return p;
}

static int try_copy(struct place dst, struct place src, uint64_t length)
{
	struct peerpin_lsi_copy c = { sizeof(c), 0, dst.end, src.end, length, 0 };

	c.flags = (dst.pointer ? PEERPIN_LSI_DST_POINTER : 0) | (src.pointer ? PEERPIN_LSI_SRC_POINTER : 0);
	return ioctl(lsi, PEERPIN_LSI_IOC_COPY, &c) ? errno : 0;
}

static bool is_host(const struct memory *m)
{
	return m->va == (uintptr_t)m->model;
}

/* Host memory is its own model. So compare host memory with the source's model. */
static void copy(struct place dst, struct place src, size_t length)
{
	const unsigned char *from = src.memory->model + src.at;
	unsigned char *to = dst.memory->model + dst.at;

	NEED(!try_copy(dst, src, length));
	if (is_host(dst.memory)) {
		TRUE_DATA(!memcmp(to, from, length));
		return;
	}
	memcpy(to, from, length);
	TRUE_DATA(memory_is_as_modelled(dst.memory));
}

/* ---- tests ------------------------------------------------------------------- */

static void sizes(struct place dst, struct place src)
{
	copy(dst, src, 1);
	copy(further(dst, 5), further(src, 3), PAGE + 1);
	copy(further(dst, GPU_PAGE - 100), further(src, 2 * GPU_PAGE - 7), 200);
	copy(further(dst, 2 * GPU_PAGE + 11), further(src, 77), GPU_PAGE + 1);
	copy(dst, further(src, 1), 3 * MIB);
}

/* The host memory has more pages than a script has moves. */
static void host_memory(struct place gpu, struct place host)
{
	copy(further(gpu, 7), further(host, 123), 2 * MIB);
	memset(host.memory->model, 0, MIB + 2 * PAGE);
	copy(further(host, 4093), further(gpu, 8), MIB);
	TRUE_DATA(!host.memory->model[host.at + 4092] && !host.memory->model[host.at + 4093 + MIB]);
}

/* Ranges start inside a page. An earlier pin fixes the position of a later pin in the BAR. */
static void pointers(struct memory *a, struct memory *b, struct memory *host)
{
	struct place other = pin(core, a, 3 * GPU_PAGE, 4 * GPU_PAGE);

	copy(pointer(b, 3), pointer(a, GPU_PAGE + 1), 15 * GPU_PAGE);
	unpin(&other);
	copy(pointer(b, GPU_PAGE), pointer(host, 99), MIB);
	copy(pointer(host, 5), pointer(b, 50), 3 * GPU_PAGE);
}

/* If the driver accepts a bad copy, no byte of the memory may change: compare with the model. */
static void refused(struct place dst, struct place src, uint64_t length, int want)
{
	int err = try_copy(dst, src, length);

	if (!err)
		TRUE_DATA(memory_is_as_modelled(dst.memory));
	NEED(err == want || err == ESTALE);
}

static void bad_ranges(struct place dst, struct place src)
{
	refused(dst, src, 0, EINVAL);
	refused(further(dst, SIZE), src, 1, EINVAL);
	refused(dst, further(src, SIZE - 8), 9, EINVAL);
	refused(dst, src, SIZE + 1, EINVAL);
	refused(further(dst, ~0ull), src, 2, EINVAL);
	refused(further(dst, GPU_PAGE), further(src, GPU_PAGE), 0ull - PAGE, EINVAL);
	refused(further(dst, 100), dst, 200, EINVAL);
	refused(dst, further(dst, GPU_PAGE), 2 * GPU_PAGE, EINVAL);
}

static void bad_regions(struct place dst, struct place src)
{
	int other = node("/dev/peerpin");
	struct place gone = pin(core, dst.memory, 0, GPU_PAGE), never = dst, elsewhere = dst, nowhere = dst;

	unpin(&gone);
	never.end.region = NEVER;
	elsewhere.end.fd = other;
	nowhere.end.fd = lsi;
	refused(gone, src, PAGE, ENOENT);
	refused(never, src, PAGE, ENOENT);
	refused(dst, never, PAGE, ENOENT);
	refused(elsewhere, src, PAGE, ENOENT);
	refused(nowhere, src, PAGE, EBADF);
	refused(dst, pointer(src.memory, 1ull << 45), PAGE, EINVAL);
	NEED(!close(other));
}

static void bad_calls(struct place dst, struct place src)
{
	struct peerpin_lsi_copy c = { sizeof(c) - 1, 0, dst.end, src.end, PAGE, 0 };

	NEED(ioctl(lsi, PEERPIN_LSI_IOC_COPY, &c) && errno == EINVAL);
	c.size = sizeof(c);
	c.flags = 4;
	NEED(ioctl(lsi, PEERPIN_LSI_IOC_COPY, &c) && errno == EOPNOTSUPP);
	NEED(ioctl(lsi, PEERPIN_LSI_IOC_COPY + 1, &c) && errno == ENOTTY);
	NEED(ioctl(lsi, PEERPIN_LSI_IOC_COPY, NULL) && errno == EFAULT);
}

/* The chip must read the memory after earlier GPU work has finished. */
static void after_gpu_work(struct place dst, struct place src)
{
	NEED(!cuMemsetD8(src.memory->va, 0x77, GPU_PAGE));
	memset(src.memory->model, 0x77, GPU_PAGE);
	copy(further(dst, 100), src, GPU_PAGE);
}

static void by_token(struct place dst, struct memory *m)
{
	CUDA_POINTER_ATTRIBUTE_P2P_TOKENS tokens;
	struct peerpin_pin p = { 0 };
	struct place src;

	NEED(!cuPointerGetAttribute(&tokens, CU_POINTER_ATTRIBUTE_P2P_TOKENS, m->va));
	p.p2p_token = tokens.p2pToken;
	p.va_space_token = tokens.vaSpaceToken;
	src = pin_as(core, m, 4321, GPU_PAGE, p);
	copy(dst, further(src, 2), GPU_PAGE - 2);
	unpin(&src);
}

static void persistent(struct place dst)
{
	struct memory m = memory_new(2 * MIB, 3);
	struct place src = pin_as(core, &m, 0, 2 * MIB, (struct peerpin_pin){ .flags = PEERPIN_PIN_PERSISTENT });

	NEED(!cuMemFree(m.va));
	copy(further(dst, 5), further(src, 9), MIB);
	unpin(&src);
	free(m.model);
}

/* No copy reaches freed memory, even if the GPU driver allocates the address again. */
static void freed(struct place other)
{
	struct memory m = memory_new(2 * MIB, 4);
	struct place p = pin(core, &m, 0, 2 * MIB), again;

	copy(p, other, MIB);
	memory_free(&m);
	NEED(try_copy(p, other, PAGE) == ESTALE);
	NEED(try_copy(other, p, PAGE) == ESTALE);
	NEED(try_copy(other, pointer(&m, 0), PAGE) == EINVAL);
	m = memory_new(2 * MIB, 5);
	again = pin(core, &m, 0, 2 * MIB);
	copy(further(again, 1), other, MIB);
	copy(pointer(&m, MIB), further(other, 1), 3 * GPU_PAGE);
	unpin(&p);
	unpin(&again);
	memory_free(&m);
}

/* Each file has its own regions. Closing one file releases the regions of that file only. */
static void two_descriptors(struct memory *a, struct memory *b)
{
	int second = node("/dev/peerpin"), chip = node("/dev/lsi0"), first = lsi;
	struct place from = pin(second, a, 100, MIB), to = pin(core, b, 0, MIB);

	lsi = chip;
	copy(to, from, MIB);
	NEED(!close(second));
	lsi = first;
	NEED(!close(chip));
	from = pin(core, a, GPU_PAGE, MIB);
	copy(to, from, MIB - 1);
	unpin(&from);
	unpin(&to);
}

/* Touch pages backwards, so that no two pages are contiguous. Else a copy could be a single move. */
static void scatter(unsigned char *at, size_t size)
{
	while (size) {
		size -= PAGE;
		at[size] = 1;
	}
}

static struct memory host_new(size_t size)
{
	struct memory m = { .size = size };

	m.model = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(m.model != MAP_FAILED);
	madvise(m.model, size, MADV_NOHUGEPAGE);	/* a later merge into a huge page would revoke the pin */
	m.va = (uintptr_t)m.model;
	scatter(m.model, size);
	model_fill(&m, 9);
	return m;
}

int main(void)
{
	struct memory a, b, host;
	struct place dst, src;

	gpu_start();
	core = node("/dev/peerpin");
	lsi = node("/dev/lsi0");
	a = memory_new(SIZE, 1);
	b = memory_new(SIZE, 2);
	host = host_new(3 * MIB);
	src = pin(core, &a, 0, SIZE);
	dst = pin(core, &b, 0, SIZE);
	sizes(dst, src);
	host_memory(dst, pin(core, &host, 0, 3 * MIB));
	pointers(&a, &b, &host);
	after_gpu_work(dst, src);
	by_token(dst, &a);
	persistent(dst);
	two_descriptors(&a, &b);
	freed(src);
	bad_regions(dst, src);
	bad_ranges(dst, src);
	bad_calls(dst, src);
	copy(dst, src, SIZE);
	return 0;	/* exits with regions left */
}

// SPDX-License-Identifier: MIT
/* A driver gets pointers from its users, and pins the memory for one copy. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include "test/vm/harness/emu.h"
#include "test/vm/core/pin.h"
#include "test/vm/harness/vmstat.h"
#include "test/vm/harness/vmtest.h"

enum {
	BYTES = 300000,
	BLOCK = 2 << 20,
	BOTH = PEERPIN_LSI_DST_POINTER | PEERPIN_LSI_SRC_POINTER,
};

static int gpu, lsi;
static unsigned char *host_a, *host_b;

static unsigned char *host_new(void)
{
	void *p = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static int copy(struct peerpin_lsi_copy *c)
{
	c->size = sizeof(*c);
	return ioctl(lsi, PEERPIN_LSI_IOC_COPY, c) ? -errno : 0;
}

static int copy_pointers(uint64_t dst, uint64_t src, uint64_t length)
{
	struct peerpin_lsi_copy c = {
		.flags = BOTH, .dst.offset = dst, .src.offset = src, .length = length,
	};

	return copy(&c);
}

static unsigned int pins(void)
{
	struct emugpu_test t;

	return emu_counts(gpu, &t) ? ~0u : t.counts.out_pins;
}

SETUP(everything_is_there)
{
	gpu = emu_open();
	lsi = lsi_open();
	host_a = host_new();
	host_b = host_new();
	EXPECT(gpu >= 0 && lsi >= 0 && host_a && host_b, "%d %d", gpu, lsi);
	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !emu_alloc(gpu, GPU_B, BLOCK), "alloc");
}

static void fill(uint64_t seed)
{
	pattern_fill(host_a, seed, BYTES + 100);
	memset(host_b, 0, BLOCK);
}

/* Copy from host A through GPU memory to host B, at odd addresses. */
CASE(pointers_to_any_memory_are_copied)
{
	fill(1);
	EXPECT(!copy_pointers(GPU_A + 77, (uintptr_t)host_a + 3, BYTES), "to the GPU: %d", errno);
	EXPECT(!copy_pointers(GPU_B + 5, GPU_A + 77, BYTES), "on the GPU: %d", errno);
	EXPECT(!copy_pointers((uintptr_t)host_b + 4095, GPU_B + 5, BYTES), "from the GPU: %d", errno);
	EXPECT(!memcmp(host_b + 4095, host_a + 3, BYTES), "other bytes");
	EXPECT(!host_b[4094] && !host_b[4095 + BYTES], "bytes outside the range were written");
	EXPECT(!copy_pointers((uintptr_t)host_b, (uintptr_t)host_a, BYTES), "host to host: %d", errno);
	EXPECT(!memcmp(host_b, host_a, BYTES), "other bytes in host memory");
	EXPECT(pins() == 0, "%u pins left", pins());
}

CASE(copy_between_pointer_and_region)
{
	struct peerpin_lsi_copy c = { .flags = PEERPIN_LSI_SRC_POINTER, .length = BYTES };
	int fd = pin_open();
	struct peerpin_pin p;

	fill(2);
	EXPECT(!pin_at(fd, GPU_A, BLOCK, &p), "pin");
	c.dst = (struct peerpin_lsi_end){ fd, p.out_region, 11 };
	c.src.offset = (uintptr_t)host_a;
	EXPECT(!copy(&c), "errno %d", errno);
	EXPECT(pins() == 1, "%u pins", pins());
	close(fd);
	EXPECT(!copy_pointers((uintptr_t)host_b, GPU_A + 11, BYTES), "back");
	EXPECT(!memcmp(host_b, host_a, BYTES), "other bytes");
}

CASE(bad_pointers_leave_no_pin)
{
	struct peerpin_lsi_copy c = { .flags = BOTH, .dst = { .fd = 1, .offset = GPU_A }, .src.offset = GPU_B, .length = 1 };

	EXPECT(copy_pointers(GPU_A, 0x1000, 4096) == -EINVAL, "unmapped source");
	EXPECT(copy_pointers(0x1000, GPU_A, 4096) == -EINVAL, "unmapped destination");
	EXPECT(copy_pointers(GPU_A, GPU_B, 0) == -EINVAL, "0 bytes");
	EXPECT(copy_pointers(GPU_A, ~0ull - 4096, 8192) == -EINVAL, "past the end of the address space");
	EXPECT(copy_pointers(GPU_A + BLOCK - 4096, GPU_B, 8192) == -EINVAL, "past the allocation");
	EXPECT(copy(&c) == -EINVAL, "a pointer with a file");
	c.flags = 4;
	EXPECT(copy(&c) == -EOPNOTSUPP, "unknown flag");
	EXPECT(pins() == 0, "%u pins left", pins());
}

/* The driver's file is not bound to a process: each process pins its own memory. */
CASE(child_copies_only_its_own_memory)
{
	int status;
	pid_t pid;

	fill(3);
	pid = fork();
	if (!pid) {
		if (copy_pointers((uintptr_t)host_b, (uintptr_t)host_a, BYTES) || memcmp(host_b, host_a, BYTES))
			_exit(1);
		_exit(copy_pointers(GPU_A, GPU_B, 4096) == -EINVAL ? 0 : 2);
	}
	EXPECT(pid > 0 && waitpid(pid, &status, 0) == pid, "fork");
	EXPECT(WIFEXITED(status) && !WEXITSTATUS(status), "status %#x", status);
	EXPECT(!host_b[0] && !host_b[BYTES - 1], "the child wrote to its parent's memory");
}

static void copy_for_ever(unsigned int *copies)
{
	for (;;)
		*copies += !copy_pointers((uintptr_t)host_b, (uintptr_t)host_a, BYTES);
}

CASE(kill_during_copy_leaves_nothing)
{
	volatile unsigned int *copies = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long pinned = vmstat_pinned();
	int i, status;
	pid_t pid;

	EXPECT(copies != MAP_FAILED, "mmap");
	for (i = 0; i < 10; i++) {
		*copies = 0;
		pid = fork();
		if (!pid)
			copy_for_ever((unsigned int *)copies);
		while (!*copies && !waitpid(pid, &status, WNOHANG))
			usleep(1000);
		usleep(3000 * i);
		EXPECT(!kill(pid, SIGKILL) && waitpid(pid, &status, 0) == pid, "kill");
	}
	EXPECT(!copy_pointers((uintptr_t)host_b, (uintptr_t)host_a, 4096), "copy after the kills: %d", errno);
	EXPECT(pins() == 0, "%u pins left", pins());
	EXPECT(vmstat_pinned_is(pinned), "%ld pages pinned, before %ld", vmstat_pinned(), pinned);
	munmap((void *)copies, 4096);
}

VMTEST_MAIN

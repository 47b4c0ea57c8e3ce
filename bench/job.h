/* SPDX-License-Identifier: MIT */
/* A process that pins many regions, and ends them in one of several ways. */
#ifndef BENCH_JOB_H
#define BENCH_JOB_H

#include <cuda.h>
#include <sys/wait.h>
#include "kernel_memory.h"
#include "late.h"
#include "peer.h"

enum {
	PAGE = 4096,
	GPU_PAGE = 64 << 10,
	WAIT_S = 120,
	CHUNK = 1000,
	CHUNKS_MAX = 101,
};

/* ---- memory to pin -------------------------------------------------------------------- */

/**
 * struct kind - a kind of pinned memory
 * @make: called in the process that pins; makes memory for @count regions and returns the memory's address
 * @release: frees the memory, which revokes the regions; NULL: the kind has no owner
 * @flags: PEERPIN_PIN_*
 */
struct kind {
	const char *name;
	uint32_t provider;
	uint64_t length;
	uint64_t (*make)(unsigned int count);
	void (*release)(uint64_t addr, unsigned int count);
	uint32_t flags;
};

static uint64_t null_make(unsigned int count)
{
	(void)count;
	return 1ull << 30;
}

static uint64_t host_make(unsigned int count)
{
	size_t length = (size_t)count * PAGE;
	char *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	bench_need(memory != MAP_FAILED, "mmap", errno);
	madvise(memory, length, MADV_NOHUGEPAGE);
	memset(memory, 1, length);
	return (uintptr_t)memory;
}

static void host_release(uint64_t addr, unsigned int count)
{
	munmap((void *)(uintptr_t)addr, (size_t)count * PAGE);
}

static void gpu_start(void)
{
	CUcontext context;

	bench_need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&context, 0) && !cuCtxSetCurrent(context), "CUDA", ENODEV);
}

static uint64_t gpu_make(unsigned int count)
{
	CUdeviceptr memory;

	gpu_start();
	bench_need(!cuMemAlloc(&memory, (size_t)count * GPU_PAGE), "cuMemAlloc", ENOMEM);
	return memory;
}

static void gpu_release(uint64_t addr, unsigned int count)
{
	(void)count;
	bench_need(!cuMemFree(addr), "cuMemFree", EINVAL);
}

static const struct kind null_kind = { "no memory", PEERPIN_PROVIDER_TEGRA, PAGE, null_make, NULL, 0 };
static const struct kind host_kind = { "host memory", PEERPIN_PROVIDER_HOST, PAGE, host_make, host_release, 0 };
static const struct kind gpu_kind = { "GPU memory", PEERPIN_PROVIDER_NV, GPU_PAGE, gpu_make, gpu_release, 0 };

/* ---- one process -------------------------------------------------------------------- */

/**
 * struct job - what a process does, and how long it took
 * @devices: number of peers to which each region is attached
 * @how: the end of the regions
 * @fd, @addr, @ids: valid in that process only
 * @pin, @attach, @end: ns for all regions; @end does not include the exit of the process. @pin, @attach and, for
 *	UNPIN, @end are the median time of a region, by chunks of CHUNK regions, times the number of regions,
 *	because other load disturbs some chunks
 * @stop: UNREGISTER: ns from the begin of the last device's unregistration until its driver is asked to stop
 * @memory: bytes of kernel memory for all regions; @mapped: for all attachments
 */
struct job {
	const struct kind *kind;
	unsigned int count;
	unsigned int devices;
	enum { UNPIN, REVOKE, UNREGISTER, EXIT } how;
	int fd;
	uint64_t addr;
	uint32_t *ids;
	uint64_t pin;
	uint64_t attach;
	uint64_t end;
	uint64_t stop;
	int64_t memory;
	int64_t mapped;
};

static int peer;

/* Regions that are charged to a process: 0 if all pages were given back */
static unsigned long regions_left(void)
{
	FILE *f = fopen("/proc/driver/peerpin", "re");
	unsigned long n = 0;

	bench_need(f && fscanf(f, "bytes %*u regions %lu", &n) == 1, "/proc/driver/peerpin", errno);
	fclose(f);
	return n;
}

static void regions_await_end(void)
{
	uint64_t end = now_ns() + WAIT_S * 1000000000ull;

	while (regions_left()) {
		bench_need(now_ns() < end, "regions that stay", ETIMEDOUT);
		usleep(100);
	}
}

/* Calls @one for the regions in chunks; returns the median time of a region, by chunks, times the number of regions */
static uint64_t job_in_chunks(struct job *j, void (*one)(struct job *j, unsigned int first, unsigned int count))
{
	uint64_t ns[CHUNKS_MAX], start;
	unsigned int n = 0, first, count;

	for (first = 0; first < j->count; first += count) {
		count = j->count - first < CHUNK ? j->count - first : CHUNK;
		start = now_ns();
		one(j, first, count);
		ns[n++] = (now_ns() - start) / count;
	}
	return bench_median(ns, n) * j->count;
}

static void attach_some(struct job *j, unsigned int first, unsigned int count)
{
	struct peer_bench c = { .fd = j->fd, .regions = (uintptr_t)&j->ids[first], .count = count, .peers = j->devices };

	peer_call(peer, c, PEER_BENCH_ATTACH);
}

static void pin_some(struct job *j, unsigned int first, unsigned int count)
{
	const struct kind *kind = j->kind;

	for (unsigned int i = first; i < first + count; i++) {
		struct peerpin_pin pin = {
			.size = sizeof(pin), .addr = j->addr + i * kind->length, .length = kind->length,
			.provider = kind->provider, .flags = kind->flags,
		};

		bench_need(!ioctl(j->fd, PEERPIN_IOC_PIN, &pin), "PEERPIN_IOC_PIN", errno);
		j->ids[i] = pin.out_region;
	}
}

static void unpin_some(struct job *j, unsigned int first, unsigned int count)
{
	for (unsigned int i = first; i < first + count; i++)
		bench_need(!unpin(j->fd, j->ids[i]), "PEERPIN_IOC_UNPIN", errno);
}

static void job_begin(struct job *j)
{
	int64_t before = kernel_memory();

	j->pin = job_in_chunks(j, pin_some);
	j->memory = kernel_memory() - before;
	if (!j->devices)
		return;
	before = kernel_memory();
	j->attach = job_in_chunks(j, attach_some);
	j->mapped = kernel_memory() - before;
}

/*
 * Begins a DMA on one more region. The attachment of this region is the device's youngest, so the core calls stop() for
 * this attachment first.
 */
static void job_hold(const struct job *j)
{
	struct peerpin_pin pin;
	struct peer_bench c = { .fd = j->fd, .regions = (uintptr_t)&pin.out_region, .count = 1, .peers = j->devices, .end_ms = 1 };
	int ret = pin_by(j->fd, j->addr + j->count * j->kind->length, j->kind->length, j->kind->provider, &pin);

	bench_need(!ret, "PEERPIN_IOC_PIN", ret);
	peer_call(peer, c, PEER_BENCH_HOLD);
}

static void job_unregister(struct job *j)
{
	struct peer_bench c = {
		.op = PEER_BENCH_RENEW, .fd = j->fd, .regions = (uintptr_t)j->ids, .count = 1, .peers = j->devices,
	};

	bench_need(!ioctl(peer, PEER_BENCH_IOC, &c), "PEER_BENCH_IOC", errno);
	j->end = c.out_ns;
	j->stop = c.out_stop_ns;
}

static void job_revoke(struct job *j)
{
	uint64_t start = now_ns();

	j->kind->release(j->addr, j->count);
	regions_await_end();
	j->end = now_ns() - start;
}

static void job_end(struct job *j)
{
	switch (j->how) {
	case UNPIN:
		j->end = job_in_chunks(j, unpin_some);
		break;
	case REVOKE:
		job_revoke(j);
		break;
	case UNREGISTER:
		job_hold(j);
		job_unregister(j);
		break;
	case EXIT:
		break;
	}
}

/* The caller has called late_open(), and calls late_end() for the longest wait since late_begin(). */
static void job_run(struct job *j, uint64_t *exiting)
{
	j->ids = calloc(j->count, sizeof(*j->ids));
	j->addr = j->kind->make(j->count);
	j->fd = pin_open();
	bench_need(j->fd >= 0 && j->ids, "/dev/peerpin", errno);
	job_begin(j);
	late_begin();
	job_end(j);
	*exiting = now_ns();
	_exit(0);
}

/* Returns the time that the exit of the process took, until all regions were given back. */
static uint64_t job_in_process(struct job *job)
{
	struct {
		struct job job;
		uint64_t exiting;
	} *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t took;
	int status;
	pid_t pid;

	bench_need(shared != MAP_FAILED, "mmap", errno);
	shared->job = *job;
	pid = fork();
	bench_need(pid >= 0, "fork", errno);
	if (!pid)
		job_run(&shared->job, &shared->exiting);
	bench_need(waitpid(pid, &status, 0) == pid && !status, "a process", ECHILD);
	regions_await_end();
	took = now_ns() - shared->exiting;
	*job = shared->job;
	munmap(shared, sizeof(*shared));
	return took;
}

#endif

// SPDX-License-Identifier: MIT
/*
 * The cost of begin, next and end of a transfer in a driver: by one thread, and by one thread on each
 * processor, where all threads use one region or each thread has a region. The yardstick is the same
 * number of counts under one spinlock, as earlier versions of peerpin counted.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include "peer.h"

enum {
	ROUNDS = 10000,
	SAMPLES = 61,
	THREADS_MAX = 64,
	PAGE = 4096,
};

static int peer, fd;
static unsigned int processors;
static uint32_t ids[THREADS_MAX];

struct job {
	pthread_t thread;
	atomic_uint *waiting;	/* threads that have not arrived */
	unsigned int cpu;
	struct peer_bench call;
};

static void *job_run(void *arg)
{
	struct job *j = arg;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(j->cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	atomic_fetch_sub(j->waiting, 1);
	while (atomic_load(j->waiting))
		;
	if (ioctl(peer, PEER_BENCH_IOC, &j->call))
		bench_need(0, "transfer", errno);
	return NULL;
}

/* Time of a transfer in the slowest thread, mean of ROUNDS. @each: each thread has a region of its own */
static uint64_t sample(enum peer_bench_op op, unsigned int threads, bool each)
{
	struct job jobs[THREADS_MAX];
	atomic_uint waiting = threads;
	uint64_t slowest = 0;
	unsigned int i;

	for (i = 0; i < threads; i++) {
		jobs[i] = (struct job){ .waiting = &waiting, .cpu = i };
		jobs[i].call = (struct peer_bench){
			.op = op, .fd = fd, .regions = (uintptr_t)&ids[each ? i : 0], .count = 1, .peers = 1, .rounds = ROUNDS,
		};
		bench_need(!pthread_create(&jobs[i].thread, NULL, job_run, &jobs[i]), "thread", EAGAIN);
	}
	for (i = 0; i < threads; i++) {
		pthread_join(jobs[i].thread, NULL);
		if (jobs[i].call.out_ns > slowest)
			slowest = jobs[i].call.out_ns;
	}
	return slowest / ROUNDS;
}

static void measure(const char *what, enum peer_bench_op op, bool each, double times)
{
	static uint64_t one[SAMPLES], all[SAMPLES];
	unsigned int i;
	char of[80];

	for (i = 0; i < SAMPLES; i++) {
		one[i] = sample(op, 1, each);
		all[i] = sample(op, processors, each);
	}
	snprintf(of, sizeof(of), "%u threads on %s", processors, each ? "a region each" : "one region");
	CLAIM(.what = what, .of = of, .ours = bench_median(all, SAMPLES), .beside = "one thread",
	      .theirs = bench_median(one, SAMPLES), .times = times);
}

CASE(there_are_regions)
{
	char *memory = aligned_alloc(PAGE, THREADS_MAX * PAGE);
	struct peerpin_pin pin;
	unsigned int i;
	int ret;

	processors = sysconf(_SC_NPROCESSORS_ONLN);
	processors = processors < THREADS_MAX ? processors : THREADS_MAX;
	peer = peer_open();
	fd = pin_open();
	bench_need(fd >= 0 && memory, "/dev/peerpin", errno);
	memset(memory, 1, THREADS_MAX * PAGE);
	for (i = 0; i < processors; i++) {
		ret = pin_by(fd, (uintptr_t)memory + i * PAGE, PAGE, PEERPIN_PROVIDER_HOST, &pin);
		bench_need(!ret, "PEERPIN_IOC_PIN", ret);
		ids[i] = pin.out_region;
	}
}

CASE(transfers_of_threads_do_not_meet)
{
	measure("counts under one spinlock", PEER_BENCH_LOCKED, false, 0);
	measure("begin, next and end of DMA", PEER_BENCH_TRANSFER, true, 1.2);
	measure("begin, next and end of DMA", PEER_BENCH_TRANSFER, false, 1.2);
}

CASE(look_ups_of_threads_do_not_meet)
{
	measure("look-up of region and attachment, and DMA", PEER_BENCH_LOOK_UP, true, 0);
	measure("look-up of region and attachment, and DMA", PEER_BENCH_LOOK_UP, false, 0);
}

VMTEST_MAIN

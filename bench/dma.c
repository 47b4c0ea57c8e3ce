// SPDX-License-Identifier: MIT
/*
 * The cost of begin, next and end of a transfer in a driver: by one thread, and by one thread on each
 * processor, where all threads use one region or each thread has a region. There are two yardsticks. Either
 * all threads count under one spinlock, as earlier versions of peerpin did. Or each thread counts under its
 * own spinlock: these threads share nothing, so their ratio shows how much the host slows them down, for
 * example if two of its processors are hardware threads of one core.
 *
 * A driver looks a region up by a file descriptor. If threads share a table of descriptors, the kernel
 * counts a reference of the file at each look-up, so all processors write one line, which is not
 * peerpin's. So the claims are of threads that each have a table of their own. The cost with one table
 * is printed beside them.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include "peer.h"

enum {
	ROUNDS = 10000,
	SAMPLES = 61,
	THREADS_MAX = 64,
	REGIONS_MAX = THREADS_MAX + 1,
	PAGE = 4096,
};

/**
 * struct how - how the threads transfer
 * @each: each thread has a region of its own
 * @apart: each thread has a table of descriptors of its own
 */
struct how {
	enum peer_bench_op op;
	bool each;
	bool apart;
};

static int peer, fd;
static unsigned int processors;

/*
 * ids[0] is the region that the threads share, so peerpin spreads its counts over the processors, which makes a
 * transfer cheaper. In a measurement with a region for each thread no thread uses ids[0], else two different paths
 * would be compared.
 */
static uint32_t ids[REGIONS_MAX];

struct job {
	pthread_t thread;
	atomic_uint *waiting;	/* threads that have not arrived */
	unsigned int cpu;
	bool apart;
	struct peer_bench call;
};

static void *job_run(void *arg)
{
	struct job *j = arg;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(j->cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	bench_need(!j->apart || !unshare(CLONE_FILES), "unshare", errno);
	atomic_fetch_sub(j->waiting, 1);
	while (atomic_load(j->waiting))
		;
	if (ioctl(peer, PEER_BENCH_IOC, &j->call))
		bench_need(0, "transfer", errno);
	return NULL;
}

/* Mean time of a transfer, if @threads threads make ROUNDS transfers each, on the processors from @first on */
static uint64_t sample(const struct how *how, unsigned int threads, unsigned int first)
{
	struct job jobs[THREADS_MAX];
	atomic_uint waiting = threads;
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < threads; i++) {
		jobs[i] = (struct job){ .waiting = &waiting, .cpu = (first + i) % processors, .apart = how->apart };
		jobs[i].call = (struct peer_bench){
			.op = how->op, .fd = fd, .regions = (uintptr_t)&ids[how->each ? i + 1 : 0], .count = 1, .peers = 1,
			.rounds = ROUNDS,
		};
		bench_need(!pthread_create(&jobs[i].thread, NULL, job_run, &jobs[i]), "thread", EAGAIN);
	}
	for (i = 0; i < threads; i++) {
		pthread_join(jobs[i].thread, NULL);
		sum += jobs[i].call.out_ns;
	}
	return sum / threads / ROUNDS;
}

/* Return the time of a transfer with all threads, divided by that with one. */
static double measure(const char *what, struct how how, double times)
{
	static uint64_t one[SAMPLES], all[SAMPLES];
	unsigned int i;
	char of[80];

	for (i = 0; i < SAMPLES; i++) {
		one[i] = sample(&how, 1, i);
		all[i] = sample(&how, processors, i);
	}
	snprintf(of, sizeof(of), "%u threads%s%s", processors,
		 how.op >= PEER_BENCH_LOCKED ? "" : how.each ? " on a region each" : " on one region",
		 how.op == PEER_BENCH_LOOK_UP && !how.apart ? " by one table of descriptors" : "");
	CLAIM(.what = what, .of = of, .ours = bench_median(all, SAMPLES), .beside = "one thread",
	      .theirs = bench_median(one, SAMPLES), .times = times);
	return (double)all[SAMPLES / 2] / one[SAMPLES / 2];	/* sorted by bench_median() */
}

CASE(there_are_regions)
{
	char *memory = mmap(NULL, REGIONS_MAX * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct peerpin_pin pin;
	unsigned int i;
	int ret;

	processors = sysconf(_SC_NPROCESSORS_ONLN);
	processors = processors < THREADS_MAX ? processors : THREADS_MAX;
	peer = peer_open();
	fd = pin_open();
	bench_need(fd >= 0 && memory != MAP_FAILED, "/dev/peerpin", errno);
	/*
	 * Without this, one huge page may cover this memory and the stack of a thread. When the stack is unmapped,
	 * the kernel splits the huge page, which revokes the pins.
	 */
	madvise(memory, REGIONS_MAX * PAGE, MADV_NOHUGEPAGE);
	memset(memory, 1, REGIONS_MAX * PAGE);
	for (i = 0; i <= processors; i++) {
		ret = pin_by(fd, (uintptr_t)memory + i * PAGE, PAGE, PEERPIN_PROVIDER_HOST, &pin);
		bench_need(!ret, "PEERPIN_IOC_PIN", ret);
		ids[i] = pin.out_region;
	}
}

/*
 * The time of a transfer may grow to 1.2 times that of one thread, and as much more as the host slows down
 * threads that share nothing.
 */
static double limit(void)
{
	static double ratio;

	if (!ratio)
		ratio = measure("counts under a spinlock for each thread", (struct how){ .op = PEER_BENCH_PRIVATE }, 0);
	return ratio > 1 ? 1.2 * ratio : 1.2;
}

CASE(transfers_of_threads_do_not_meet)
{
	double locked = measure("counts under one spinlock", (struct how){ .op = PEER_BENCH_LOCKED }, 0);

	EXPECT(limit() < 2, "threads that share nothing take %.2f times as long as one: the host is busy, so the claims mean "
	       "nothing", limit() / 1.2);
	EXPECT(processors == 1 || locked > limit(), "one spinlock costs all threads only %.2f times as much as one thread: "
	       "they did not run at the same time, so no claim could fail", locked);
	measure("begin, next and end of DMA", (struct how){ .op = PEER_BENCH_TRANSFER, .each = true }, limit());
	measure("begin, next and end of DMA", (struct how){ .op = PEER_BENCH_TRANSFER }, limit());
}

CASE(look_ups_of_threads_do_not_meet)
{
	static const char what[] = "look-up of region and attachment, and DMA";

	measure(what, (struct how){ .op = PEER_BENCH_LOOK_UP, .each = true, .apart = true }, limit());
	measure(what, (struct how){ .op = PEER_BENCH_LOOK_UP, .apart = true }, limit());
	measure(what, (struct how){ .op = PEER_BENCH_LOOK_UP }, 0);
}

VMTEST_MAIN

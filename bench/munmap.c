// SPDX-License-Identifier: MIT
/*
 * The cost of watching host memory without a pin: PEERPIN_IOC_WATCH and UNWATCH with other watches in the process, and
 * munmap() of 64 KiB in four processes. The processes take turns, so that other load disturbs all of them:
 *	bare		no watch, so the process has no MMU notifier
 *	elsewhere	the process watches other memory
 *	watched		the memory is watched
 *	userfaultfd	the memory is registered, and a thread reads the events of munmap(): libfabric's second method
 */
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include "test/vm/core/watch.h"
#include "bench.h"

enum {
	ROUNDS = 101,
	BATCH = 50,
	LENGTH = 64 << 10,
	MOST = 100000,
};

/* ---- watch and unwatch ------------------------------------------------------------------ */

static const unsigned int counts[] = { 0, 1000, MOST };
static const struct figure by_count = { "unpinned", "Watch host memory", "other watches in the process", "count" };

static int fd;
static char *memory;

enum step { WATCH, UNWATCH, EMPTY, STEPS };

static const char *const step_names[STEPS] = {
	[WATCH] = "watch", [UNWATCH] = "unwatch", [EMPTY] = "an empty ioctl",
};

/* Each batch watches BATCH times, then ends these watches. */
static void run_steps(uint64_t *ns)
{
	struct peerpin_watch w[BATCH];
	uint64_t start = now_ns(), made, ended;
	unsigned int i;

	for (i = 0; i < BATCH; i++)
		bench_need(!watch_at(fd, memory + i * 4096, LENGTH, &w[i]), "PEERPIN_IOC_WATCH", errno);
	made = now_ns();
	for (i = 0; i < BATCH; i++)
		bench_need(!unwatch(fd, w[i].out_watch), "PEERPIN_IOC_UNWATCH", errno);
	ended = now_ns();
	for (i = 0; i < BATCH; i++)
		ioctl(fd, 0, NULL);
	ns[EMPTY] = (now_ns() - ended) / BATCH;
	ns[WATCH] = (made - start) / BATCH;
	ns[UNWATCH] = (ended - made) / BATCH;
}

static uint64_t step_medians[N(counts)][STEPS];

static void measure_steps(unsigned int which)
{
	static uint64_t ns[STEPS][ROUNDS];
	uint64_t now[STEPS];

	for (unsigned int i = 0; i < ROUNDS; i++) {
		run_steps(now);
		for (enum step s = 0; s < STEPS; s++)
			ns[s][i] = now[s];
	}
	for (enum step s = 0; s < STEPS; s++)
		step_medians[which][s] = bench_median(ns[s], ROUNDS);
}

CASE(there_is_memory)
{
	fd = pin_open();
	bench_need(fd >= 0, "/dev/peerpin", errno);
	memory = mmap(NULL, LENGTH + BATCH * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bench_need(memory != MAP_FAILED, "mmap", errno);
}

CASE(watches)
{
	struct peerpin_watch w;
	unsigned int i, n = 0;

	for (i = 0; i < N(counts); i++) {
		for (; n < counts[i]; n++)
			bench_need(!watch_at(fd, memory + n % 16 * 4096, LENGTH, &w), "PEERPIN_IOC_WATCH", errno);
		measure_steps(i);
	}
	figure(&by_count);
	for (enum step s = 0; s < STEPS; s++)
		for (i = 0; i < N(counts); i++)
			point(&by_count, step_names[s], counts[i] ?: 1, step_medians[i][s]);
	bench_need(!unwatch(fd, PEERPIN_WATCH_ALL), "PEERPIN_IOC_UNWATCH", errno);
	for (i = 0; i < N(counts); i += N(counts) - 1)
		CLAIM(.what = "watch host memory without a pin", .of = i ? "100,000 other watches" : "the first",
		      .ours = step_medians[i][WATCH], .beside = step_names[EMPTY], .theirs = step_medians[i][EMPTY],
		      .most = bench_is_emulated() ? 20000 : 2000);
}

/* ---- munmap() ----------------------------------------------------------------------------- */

enum how { BARE, ELSEWHERE, WATCHED, UFFD, HOWS };

static const char *const how_names[HOWS] = {
	[BARE] = "bare", [ELSEWHERE] = "watches elsewhere", [WATCHED] = "watched", [UFFD] = "by userfaultfd",
};

/** struct process - a process that measures munmap() when it is asked */
static struct process {
	int ask[2], answer[2];
} processes[HOWS];

static int uffd;

static void *read_events(void *arg)
{
	struct pollfd p = { .fd = uffd, .events = POLLIN };
	struct uffd_msg event;

	while (poll(&p, 1, -1) > 0)
		if (read(uffd, &event, sizeof(event)) != sizeof(event))
			break;
	return arg;
}

static void prepare(enum how how)
{
	struct uffdio_api api = { .api = UFFD_API, .features = UFFD_FEATURE_EVENT_UNMAP };
	struct peerpin_watch w;
	pthread_t thread;

	if (how == UFFD) {
		uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
		bench_need(uffd >= 0 && !ioctl(uffd, UFFDIO_API, &api), "userfaultfd", errno);
		bench_need(!pthread_create(&thread, NULL, read_events, NULL), "pthread_create", EAGAIN);
	} else if (how != BARE) {
		fd = pin_open();
		bench_need(!watch_at(fd, memory, 4096, &w), "PEERPIN_IOC_WATCH", errno);
	}
}

static uint64_t munmap_ns(enum how how)
{
	char *p = mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	struct uffdio_register r = { .range = { (uintptr_t)p, LENGTH }, .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct peerpin_watch w;
	uint64_t ns;

	if (how == UFFD)
		bench_need(!ioctl(uffd, UFFDIO_REGISTER, &r), "UFFDIO_REGISTER", errno);
	if (how == WATCHED)
		bench_need(!watch_at(fd, p, LENGTH, &w), "PEERPIN_IOC_WATCH", errno);
	ns = now_ns();
	munmap(p, LENGTH);
	ns = now_ns() - ns;
	if (how == WATCHED)
		bench_need(!unwatch(fd, w.out_watch), "PEERPIN_IOC_UNWATCH", errno);
	return ns;
}

static uint64_t batch_ns(enum how how)
{
	static uint64_t ns[BATCH];

	for (unsigned int i = 0; i < BATCH; i++)
		ns[i] = munmap_ns(how);
	return bench_median(ns, BATCH);
}

static void serve(struct process *p, enum how how)
{
	uint64_t ns;
	char byte;

	close(p->ask[1]);
	prepare(how);
	while (read(p->ask[0], &byte, 1) == 1) {
		ns = batch_ns(how);
		if (write(p->answer[1], &ns, sizeof(ns)) != sizeof(ns))
			break;
	}
	_exit(0);
}

static void start(enum how how)
{
	struct process *p = &processes[how];

	bench_need(!pipe2(p->ask, O_CLOEXEC) && !pipe2(p->answer, O_CLOEXEC), "pipe", errno);
	fflush(stdout);
	if (!fork())
		serve(p, how);
	close(p->ask[0]);
	close(p->answer[1]);
}

static uint64_t ask(const struct process *p)
{
	uint64_t ns = 0;

	bench_need(write(p->ask[1], "", 1) == 1 && read(p->answer[0], &ns, sizeof(ns)) == sizeof(ns), "a process", EPIPE);
	return ns;
}

static uint64_t medians[HOWS];

CASE(munmap_of_64_kib)
{
	static uint64_t ns[HOWS][ROUNDS];
	enum how how;

	for (how = 0; how < HOWS; how++)
		start(how);
	for (unsigned int i = 0; i < ROUNDS; i++)
		for (how = 0; how < HOWS; how++)
			ns[how][i] = ask(&processes[how]);
	for (how = 0; how < HOWS; how++)
		medians[how] = bench_median(ns[how], ROUNDS);
	CLAIM(.what = "munmap() of 64 KiB", .of = how_names[ELSEWHERE], .ours = medians[ELSEWHERE], .beside = how_names[BARE],
	      .theirs = medians[BARE], .times = bench_is_emulated() ? 1.1 : 1.02);
	CLAIM(.what = "munmap() of 64 KiB", .of = how_names[WATCHED], .ours = medians[WATCHED], .beside = how_names[BARE],
	      .theirs = medians[BARE], .times = 1.3);
	CLAIM(.what = "munmap() of 64 KiB", .of = how_names[WATCHED], .ours = medians[WATCHED], .beside = how_names[UFFD],
	      .theirs = medians[UFFD]);
}

VMTEST_MAIN

// SPDX-License-Identifier: MIT
/*
 * How the costs of the kernel module grow: with the number of regions of a process, of attached devices,
 * of processes and of pins made before, and when BAR1 is full. Each cost of a region is compared with the
 * cost among few regions. Also printed: for how long a real-time thread could not run while the regions ended.
 */
#include <sys/resource.h>
#include "job.h"
#include "test/vm/harness/module.h"

/* The regions of null_make() lie in the hole for 32-bit BARs, which the peers reach. No DMA goes there. */
#define BASE "base=0x80000000"

enum {
	FEW = 1000,
	SOME = 10000,
	MANY = 100000,
	DEVICES = PEER_BENCH_PEERS,
	PROCESSES = 1000,
	PINS_EACH = 16,
	EPOCHS = 1000000,
	SAMPLE = 10000,
	LOOK_UPS = 10000,
	ROUNDS_MAX = 5,
};

/* ---- costs by number ------------------------------------------------------------------ */

enum cost { PIN, ATTACH, UNPINNED, REVOKED, UNREGISTERED, EXITED, COSTS };

static const char *const cost_names[COSTS] = {
	[PIN] = "pin", [ATTACH] = "attach", [UNPINNED] = "unpin", [REVOKED] = "revocation",
	[UNREGISTERED] = "end by the device", [EXITED] = "end at exit",
};

/**
 * struct costs - the costs of a number of regions
 * @ns: for each region, or for each attachment if the regions are attached; least of all rounds; 0: not measured
 * @bare: ns of the exit of a process that has unpinned all; EXITED is the rest
 * @memory, @mapped: bytes of each region and of each attachment
 * @stop: ns until the driver is asked to stop, when its device is unregistered; least of all rounds
 * @late: longest wait of a real-time thread, least of all rounds
 */
struct costs {
	double ns[COSTS];
	uint64_t bare;
	double memory;
	double mapped;
	uint64_t stop;
	uint64_t late[COSTS];
};

static unsigned int rounds_of(unsigned int count)
{
	if (count > MANY || kernel_checks_itself())
		return 1;
	return count > SOME ? 2 : count > FEW ? 3 : ROUNDS_MAX;
}

static uint64_t least(const uint64_t *ns, unsigned int n)
{
	uint64_t l = ns[0];

	for (unsigned int i = 1; i < n; i++)
		l = ns[i] < l ? ns[i] : l;
	return l;
}

static uint64_t job_measure(struct costs *to, enum cost cost, struct job *j)
{
	uint64_t exited, late_ns;

	exited = job_in_process(j);
	late_ns = late_end();
	if (!to->late[cost] || late_ns < to->late[cost])
		to->late[cost] = late_ns;
	if (cost == UNPINNED)
		to->bare = exited;
	if (cost == UNREGISTERED && (!to->stop || j->stop < to->stop))
		to->stop = j->stop;
	if (cost != EXITED)
		return j->end;
	return exited > to->bare ? exited - to->bare : 0;
}

/* @cost: how the regions end; measure UNPINNED before EXITED. Also sets the costs of PIN and ATTACH. */
static void costs_measure(struct costs *to, enum cost cost, struct job job)
{
	uint64_t pin[ROUNDS_MAX], attach[ROUNDS_MAX], end[ROUNDS_MAX];
	unsigned int all = job.count * (job.devices ?: 1), rounds = rounds_of(all);
	struct job j;

	for (unsigned int i = 0; i < rounds; i++) {
		j = job;
		end[i] = job_measure(to, cost, &j);
		pin[i] = j.pin;
		attach[i] = j.attach;
	}
	to->ns[PIN] = (double)least(pin, rounds) / job.count;
	to->ns[cost] = (double)least(end, rounds) / all;
	to->memory = (double)j.memory / job.count;
	if (!job.devices)
		return;
	to->ns[ATTACH] = (double)least(attach, rounds) / all;
	to->mapped = (double)j.mapped / all;
}

static struct costs costs_of(const struct kind *kind, unsigned int count, unsigned int devices)
{
	struct job job = { .kind = kind, .count = count, .devices = devices };
	struct costs costs = {};

	job.how = UNPIN;
	costs_measure(&costs, UNPINNED, job);
	job.how = UNREGISTER;
	if (devices)
		costs_measure(&costs, UNREGISTERED, job);
	job.how = REVOKE;
	if (kind->release)
		costs_measure(&costs, REVOKED, job);
	job.how = EXIT;
	costs_measure(&costs, EXITED, job);
	return costs;
}

/* Among ten times as many regions the processor's caches miss more often. A scan would take ten times as long. */
#define TIMES 3

static void claim_growth(const char *what, const struct costs *many, const struct costs *few, const char *of,
			 const char *beside, double times)
{
	char words[96];

	for (enum cost c = 0; c < COSTS; c++) {
		if (!many->ns[c] || !few->ns[c])	/* few regions may not prolong the exit */
			continue;
		snprintf(words, sizeof(words), "%s of %s", cost_names[c], what);
		CLAIM(.what = words, .of = of, .ours = many->ns[c], .beside = beside, .theirs = few->ns[c], .times = times);
	}
}

static void say_costs(const struct kind *kind, unsigned int count, unsigned int devices, const struct costs *costs)
{
	printf("%s, %u regions, %u devices: %.0f bytes a region, %.0f an attachment, %lu ns until stop();", kind->name,
	       count, devices, costs->memory, costs->mapped, costs->stop);
	for (enum cost c = 0; c < COSTS; c++)
		if (costs->late[c])
			printf(" %s %.0f ns (late %lu us),", cost_names[c], costs->ns[c], costs->late[c] / 1000);
		else if (costs->ns[c])
			printf(" %s %.0f ns,", cost_names[c], costs->ns[c]);
	printf("\n");
	fflush(stdout);
}

static struct costs measure(const struct kind *kind, unsigned int count, unsigned int devices)
{
	struct costs costs = costs_of(kind, count, devices);

	say_costs(kind, count, devices, &costs);
	return costs;
}

SETUP(there_is_memory)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	int ret = module_load("test/null_provider.ko", BASE);

	bench_need(!ret, "null_provider.ko", ret);
	bench_need(!setrlimit(RLIMIT_MEMLOCK, &unlimited), "RLIMIT_MEMLOCK", errno);
	peer = peer_open();
	late_open();
	late_begin();
	sleep(5);
	printf("at rest, 5 s: late %lu us\n", late_end() / 1000);
}

static void measure_regions(const struct kind *kind, unsigned int devices)
{
	struct costs few = measure(kind, FEW, devices), some = measure(kind, SOME, devices), many;
	char of[64];

	snprintf(of, sizeof(of), "%s%s, among 10,000", kind->name, devices ? ", attached" : "");
	/* no bound: other load may spare the few milliseconds for 1,000 regions, but not the seconds for the others */
	claim_growth("a region", &some, &few, of, "among 1,000", 0);
	if (kernel_checks_itself())	/* this would take an hour */
		return;
	many = measure(kind, MANY, devices);
	snprintf(of, sizeof(of), "%s%s, among 100,000", kind->name, devices ? ", attached" : "");
	claim_growth("a region", &many, &some, of, "among 10,000", TIMES);
	CLAIM(.what = "kernel memory of a region", .of = of, .unit = "B", .ours = many.memory);
	if (!devices)
		return;
	CLAIM(.what = "kernel memory of an attachment", .of = of, .unit = "B", .ours = many.mapped);
	CLAIM(.what = "unregistration of a device until stop()", .of = of, .ours = many.stop, .beside = "among 1,000",
	      .theirs = few.stop, .more = 300000);
}

CASE(regions)
{
	measure_regions(&null_kind, 0);
	measure_regions(&host_kind, 0);
}

CASE(attached_regions)
{
	measure_regions(&null_kind, 1);
}

CASE(devices)
{
	struct costs one = measure(&null_kind, SOME, 1), all = measure(&null_kind, SOME, DEVICES);

	claim_growth("an attachment", &all, &one, "64 devices, 10,000 regions", "1 device", TIMES);
}

/* The device that was attached first has the longest search. */
static uint64_t look_up_ns(int fd, uint32_t region, unsigned int devices)
{
	struct peer_bench c = { .fd = fd, .regions = (uintptr_t)&region, .count = 1, .peers = devices, .rounds = LOOK_UPS };
	uint64_t ns[ROUNDS_MAX];

	peer_call(peer, c, PEER_BENCH_ATTACH);
	for (unsigned int i = 0; i < ROUNDS_MAX; i++)
		ns[i] = peer_call(peer, c, PEER_BENCH_LOOK_UP);
	return bench_median(ns, ROUNDS_MAX) / LOOK_UPS;
}

CASE(look_up_among_devices)
{
	struct peerpin_pin pin;
	int fd = pin_open();
	uint64_t one;

	bench_need(fd >= 0 && !pin_by(fd, null_make(1), PAGE, PEERPIN_PROVIDER_TEGRA, &pin), "PEERPIN_IOC_PIN", errno);
	one = look_up_ns(fd, pin.out_region, 1);
	CLAIM(.what = "look-up of region and attachment, and DMA", .of = "64 devices",
	      .ours = look_up_ns(fd, pin.out_region, DEVICES), .beside = "1 device", .theirs = one);
	close(fd);
}

/* ---- processes ------------------------------------------------------------------------- */

/* A process of a crowd: pins, then exits with all others. */
static void crowd_member(int ready, int go, unsigned int pins)
{
	struct peerpin_pin pin;
	uint64_t start = now_ns();
	int fd = pins ? pin_open() : 0;
	char c;

	for (unsigned int i = 0; i < pins; i++)
		bench_need(!pin_by(fd, null_make(1), PAGE, PEERPIN_PROVIDER_TEGRA, &pin), "PEERPIN_IOC_PIN", errno);
	start = now_ns() - start;
	bench_need(write(ready, &start, sizeof(start)) == sizeof(start), "pipe", errno);
	if (read(go, &c, 1))
		_exit(1);
	_exit(0);
}

/**
 * struct crowd - @count processes that exit at once
 * @pin: ns for the open and the pins of a process, median
 * @exit: ns until all have ended, of each
 * @memory: bytes of the kernel for each, with the process itself
 */
struct crowd {
	unsigned int count;
	unsigned int pins;
	uint64_t pin;
	uint64_t exit;
	int64_t memory;
};

static void crowd_run(struct crowd *c)
{
	static uint64_t took[PROCESSES];
	int64_t before = kernel_memory();
	int ready[2], go[2];
	uint64_t start;

	bench_need(!pipe(ready) && !pipe(go), "pipe", errno);
	for (unsigned int i = 0; i < c->count; i++) {
		pid_t pid = fork();

		bench_need(pid >= 0, "fork", errno);
		if (!pid) {
			close(go[1]);
			crowd_member(ready[1], go[0], c->pins);
		}
		bench_need(read(ready[0], &took[i], sizeof(took[i])) == sizeof(took[i]), "pipe", errno);
	}
	c->pin = bench_median(took, c->count);
	c->memory = (kernel_memory() - before) / c->count;
	start = now_ns();
	close(go[1]);
	for (unsigned int i = 0; i < c->count; i++)
		bench_need(waitpid(0, NULL, 0) > 0, "a process", ECHILD);
	regions_await_end();
	c->exit = (now_ns() - start) / c->count;
	close(go[0]);
	close(ready[0]);
	close(ready[1]);
}

CASE(processes)
{
	static const unsigned int counts[] = { 10, 100, PROCESSES };
	struct crowd with[N(counts)], bare[N(counts)];
	char of[64];

	for (unsigned int i = 0; i < N(counts); i++) {
		with[i] = (struct crowd){ .count = counts[i], .pins = PINS_EACH };
		bare[i] = (struct crowd){ .count = counts[i] };
		crowd_run(&bare[i]);
		late_begin();
		crowd_run(&with[i]);
		printf("%u processes of %d regions: open and pins %lu ns, exit %lu ns and %ld bytes a process "
		       "(without peerpin %lu, %ld), late %lu us\n",
		       counts[i], PINS_EACH, with[i].pin, with[i].exit, with[i].memory, bare[i].exit, bare[i].memory,
		       late_end() / 1000);
	}
	snprintf(of, sizeof(of), "%d regions, %d processes", PINS_EACH, PROCESSES);
	CLAIM(.what = "open and pins of a process", .of = of, .ours = with[2].pin, .beside = "10 processes",
	      .theirs = with[0].pin, .times = 2);
	CLAIM(.what = "exit of a process", .of = of, .ours = with[2].exit, .beside = "100 processes",
	      .theirs = with[1].exit, .times = 2);
}

/* ---- epochs ---------------------------------------------------------------------------- */

static uint64_t pins_of_one_id(int fd, unsigned int count, uint32_t *epoch)
{
	uint64_t start = now_ns();
	struct peerpin_pin pin;

	for (unsigned int i = 0; i < count; i++) {
		bench_need(!pin_by(fd, null_make(1), PAGE, PEERPIN_PROVIDER_TEGRA, &pin), "PEERPIN_IOC_PIN", errno);
		bench_need(!pin.out_region && !unpin(fd, 0), "the first id", errno);
	}
	*epoch = pin.out_epoch;
	return now_ns() - start;
}

CASE(epochs)
{
	uint64_t first, last;
	int64_t memory;
	uint32_t epoch;
	int fd = pin_open();

	bench_need(fd >= 0, "/dev/peerpin", errno);
	pins_of_one_id(fd, SAMPLE, &epoch);
	memory = kernel_memory();
	first = pins_of_one_id(fd, SAMPLE, &epoch) / SAMPLE;
	pins_of_one_id(fd, EPOCHS / 2 - 3 * SAMPLE, &epoch);
	last = pins_of_one_id(fd, SAMPLE, &epoch) / SAMPLE;
	memory = kernel_memory() - memory;
	EXPECT(epoch == EPOCHS - 1, "epoch %u", epoch);
	printf("epoch %u: the kernel has %ld bytes more than at epoch %d\n", epoch, memory, 2 * SAMPLE);
	CLAIM(.what = "pin and unpin", .of = "epoch 1,000,000", .ours = last, .beside = "epoch 20,000",
	      .theirs = first, .times = 2);
	close(fd);
}

/* ---- BAR1 ------------------------------------------------------------------------------ */

static unsigned int gpu_pages(void)
{
	size_t left, total;

	gpu_start();
	bench_need(!cuMemGetInfo(&left, &total), "cuMemGetInfo", EINVAL);
	return left / GPU_PAGE;
}

/* The number of pins of 64 KiB that fit into BAR1: the GPU driver reserves a part of BAR1. */
static unsigned int bar1_pins(void)
{
	int status, pipes[2];
	unsigned int n;
	pid_t pid;

	bench_need(!pipe(pipes), "pipe", errno);
	pid = fork();
	if (!pid) {
		int fd = pin_open();
		struct peerpin_pin pin;
		uint64_t addr = gpu_make(gpu_pages());

		for (n = 0; !pin_by(fd, addr + (uint64_t)n * GPU_PAGE, GPU_PAGE, PEERPIN_PROVIDER_NV, &pin); n++)
			;
		bench_need(pin.out_reason == PEERPIN_REASON_NO_BAR1, "reason", pin.out_reason);
		_exit(write(pipes[1], &n, sizeof(n)) != sizeof(n));
	}
	bench_need(waitpid(pid, &status, 0) == pid && !status, "a process", ECHILD);
	bench_need(read(pipes[0], &n, sizeof(n)) == sizeof(n), "pipe", errno);
	return n;
}

CASE(bar1_full)
{
	unsigned int full = bar1_pins();
	struct costs few, all;
	char of[64];

	few = measure(&gpu_kind, full / 16, 0);
	all = measure(&gpu_kind, full, 0);
	snprintf(of, sizeof(of), "BAR1 full of %u", full);
	/* no bound: the emulated GPU driver searches 31 pins in a chain of its hash, with a sixteenth of the pins 2 */
	claim_growth("64 KiB of GPU memory", &all, &few, of, "a sixteenth", 0);
}

SETUP(nothing_is_left)
{
	int ret = module_remove("null_provider");

	EXPECT(!ret, "null_provider: %s", strerror(-ret));
}

VMTEST_MAIN

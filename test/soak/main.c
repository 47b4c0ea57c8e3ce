// SPDX-License-Identifier: MIT
/*
 * Many processes use GPU memory through peers and check each byte that arrives. Meanwhile this
 * program kills processes, changes limits, and unbinds or removes GPUs and peers. At each pause all
 * processes release everything, and the kernel must be left with nothing.
 *
 *	soak [--seconds N] [--processes N] [--seed N] [--quiet N]
 *
 * --quiet: seconds between two pauses
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "test/fuzz/calls/random.h"
#include "ledger.h"
#include "soak.h"
#include "trouble.h"
#include "worker.h"

enum {
	LOOK_US = 20000,
	KILL_EACH = 8,		/* on average, one process is killed in this many rounds */
	TROUBLE_EACH = 8,
	TELL_S = 10,
	PROGRESS_S = 20,	/* within this time one copy must succeed */
	TROUBLES_S = 300,	/* within this time each kind of trouble must occur */
	PAUSE_S = 90,		/* within this time all processes must have released everything */
};

struct limits {
	time_t seconds;
	time_t quiet;
	unsigned int processes;
};

static struct child {
	pid_t pid;
	unsigned int lives;
} children[WORKERS_MAX];

static time_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* ---- workers ---------------------------------------------------------------------- */

static void start(unsigned int number)
{
	struct child *child = &children[number];

	child->pid = fork();
	if (!child->pid)
		worker_run(number, child->lives);
	child->lives++;
	count(COUNT_LIVES, 1);
}

static void note_end(unsigned int number, int status)
{
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
		soak_fail("worker %u: ended by signal %d", number, WTERMSIG(status));
	children[number].pid = 0;
}

static void look_after(unsigned int processes, bool restart)
{
	unsigned int i;
	int status;

	for (i = 0; i < processes; i++) {
		if (children[i].pid > 0 && waitpid(children[i].pid, &status, WNOHANG) == children[i].pid)
			note_end(i, status);
		if (children[i].pid <= 0 && restart)
			start(i);
	}
}

static void kill_one(uint64_t *seed, unsigned int processes)
{
	const struct child *child = &children[random_below(seed, processes)];

	if (child->pid <= 0)
		return;
	kill(child->pid, SIGKILL);
	count(COUNT_KILLS, 1);
}

static void tell_where(unsigned int number)
{
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stack", children[number].pid);
	file = fopen(path, "re");
	printf("# worker %u, process %d:\n", number, children[number].pid);
	while (file && fgets(line, sizeof(line), file))
		printf("#   %s", line);
	if (file)
		fclose(file);
}

/* ---- progress ------------------------------------------------------------------- */

static void tell(time_t since)
{
	printf("# %ld s: %llu calls (%llu refused), %llu pins, %llu copies, %llu MiB looked at, %llu SIGBUS, %llu moved; "
	       "%llu processes, %llu killed; %llu unbound, %llu removed, %llu revoked, %llu parameters; %llu pauses\n",
	       (long)(seconds() - since), (unsigned long long)counted(COUNT_OPS), (unsigned long long)counted(COUNT_REFUSED),
	       (unsigned long long)counted(COUNT_PINS), (unsigned long long)counted(COUNT_COPIES),
	       (unsigned long long)counted(COUNT_BYTES) >> 20, (unsigned long long)counted(COUNT_SIGBUS),
	       (unsigned long long)counted(COUNT_HOST_REVOKED), (unsigned long long)counted(COUNT_LIVES),
	       (unsigned long long)counted(COUNT_KILLS), (unsigned long long)counted(COUNT_UNBINDS),
	       (unsigned long long)counted(COUNT_REMOVALS), (unsigned long long)counted(COUNT_REVOCATIONS),
	       (unsigned long long)counted(COUNT_PARAMETERS), (unsigned long long)counted(COUNT_QUIET));
	fflush(stdout);
}

/* ---- pauses ------------------------------------------------------------------------- */

static bool is_paused(unsigned int number, uint32_t pause)
{
	return children[number].pid <= 0 || __atomic_load_n(&soak->paused[number], __ATOMIC_SEQ_CST) == pause;
}

static bool all_are_paused(unsigned int processes, uint32_t pause)
{
	unsigned int i;

	look_after(processes, false);
	for (i = 0; i < processes; i++)
		if (!is_paused(i, pause))
			return false;
	return trouble_is_over();
}

static void name_the_late(unsigned int processes, uint32_t pause)
{
	unsigned int i;

	soak_fail("some workers did not release everything within %d s, see above", PAUSE_S);
	for (i = 0; i < processes; i++)
		if (!is_paused(i, pause))
			tell_where(i);
}

static void look_at_ledger(void)
{
	char why[LEDGER_MAX] = "";

	if (ledger_is_even(why))
		count(COUNT_QUIET, 1);
	else
		soak_fail("leftover while all workers are paused: %s", why);
}

/* Fail a run in which every call fails with an allowed error. */
static void look_at_progress(void)
{
	static uint64_t bytes;
	static time_t since;

	if (seconds() - since < PROGRESS_S)
		return;
	if (counted(COUNT_BYTES) == bytes)
		soak_fail("no byte was copied for %d s", PROGRESS_S);
	bytes = counted(COUNT_BYTES);
	since = seconds();
}

static void pause_all(unsigned int processes)
{
	static uint32_t pauses;
	time_t last = seconds() + PAUSE_S;

	__atomic_store_n(&soak->pause, ++pauses, __ATOMIC_SEQ_CST);
	while (!all_are_paused(processes, pauses) && !soak_failed() && seconds() < last)
		usleep(LOOK_US);
	if (!all_are_paused(processes, pauses))
		name_the_late(processes, pauses);
	if (!soak_failed())
		look_at_ledger();
	look_at_progress();
	__atomic_store_n(&soak->pause, 0, __ATOMIC_SEQ_CST);
}

/* ---- the run -------------------------------------------------------------------------- */

static void disturb(uint64_t *seed, unsigned int processes)
{
	if (!random_below(seed, KILL_EACH))
		kill_one(seed, processes);
	if (!random_below(seed, TROUBLE_EACH))
		trouble_make(seed);
	trouble_is_over();
}

static void run(const struct limits *limits)
{
	time_t begin = seconds(), told = begin, paused = begin;
	uint64_t seed = soak->seed;

	while (seconds() - begin < limits->seconds && !soak_failed()) {
		look_after(limits->processes, true);
		usleep(LOOK_US);
		disturb(&seed, limits->processes);
		if (seconds() - told >= TELL_S) {
			tell(begin);
			told = seconds();
		}
		if (seconds() - paused >= limits->quiet) {
			pause_all(limits->processes);
			paused = seconds();
		}
	}
	if (!soak_failed())
		pause_all(limits->processes);
	tell(begin);
}

/* Kill half of the workers; the other half ends by itself. */
static void end_all(unsigned int processes)
{
	time_t last = seconds() + PAUSE_S;
	unsigned int i, left = processes;

	soak->stop = 1;
	for (i = 0; i < processes; i += 2)
		if (children[i].pid > 0)
			kill(children[i].pid, SIGKILL);
	while (left && seconds() < last) {
		look_after(processes, false);
		for (left = 0, i = 0; i < processes; i++)
			left += children[i].pid > 0;
		usleep(LOOK_US);
	}
	for (i = 0; left && i < processes; i++)
		if (children[i].pid > 0)
			tell_where(i);
	if (left)
		soak_fail("%u processes do not end, see above", left);
}

/* A short run may have missed kinds of trouble. */
static void look_at_troubles(time_t ran)
{
	static const enum count kinds[] = { COUNT_KILLS, COUNT_UNBINDS, COUNT_REMOVALS, COUNT_REVOCATIONS, COUNT_PARAMETERS };
	size_t i;

	for (i = 0; ran >= TROUBLES_S && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!counted(kinds[i]))
			soak_fail("trouble of kind %zu did not occur in %ld s", i, (long)ran);
}

static int judge(time_t ran)
{
	look_at_troubles(ran);
	if (!soak_failed() && counted(COUNT_BYTES) && counted(COUNT_QUIET)) {
		printf("ok soak\n");
		return 0;
	}
	printf("not ok soak: %s\n", soak_failed() ? soak->failure : "nothing was copied");
	return 1;
}

/* ---- options ---------------------------------------------------------------------------- */

static void take_options(int argc, char **argv, struct limits *limits)
{
	static const struct option options[] = {
		{ "seconds", required_argument, NULL, 's' }, { "processes", required_argument, NULL, 'p' },
		{ "seed", required_argument, NULL, 'S' }, { "quiet", required_argument, NULL, 'q' }, { 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 's': limits->seconds = atol(optarg); break;
		case 'p': limits->processes = (unsigned int)atoi(optarg); break;
		case 'S': soak->seed = strtoull(optarg, NULL, 0); break;
		case 'q': limits->quiet = atol(optarg); break;
		default: exit(2);
		}
	}
	if (limits->processes >= 1 && limits->processes <= WORKERS_MAX)
		return;
	fprintf(stderr, "soak: --processes is 1 to %d\n", WORKERS_MAX);
	exit(2);
}

int main(int argc, char **argv)
{
	struct limits limits = { .seconds = 1800, .quiet = 60, .processes = 64 };

	soak = mmap(NULL, sizeof(*soak), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (soak == MAP_FAILED) {
		perror("soak: mmap");
		return 2;
	}
	soak->seed = 1;
	take_options(argc, argv, &limits);
	if (!trouble_init()) {
		fprintf(stderr, "soak: no GPU or no peer; type: emu/vm/run --hotplug --gpus 2 --peers 2 -- soak\n");
		return 2;
	}
	printf("# seed %llu\n", (unsigned long long)soak->seed);
	ledger_open();
	run(&limits);
	end_all(limits.processes);
	if (!soak_failed())
		look_at_ledger();
	return judge(limits.seconds);
}

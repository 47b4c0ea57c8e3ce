// SPDX-License-Identifier: MIT
/*
 * Many processes call all device nodes of peerpin and of the emulated GPU at random, and some
 * processes are killed. Bugs show as splats in the kernel log. This program only checks that
 * nothing is left at the end.
 *
 *	calls [--seed N] [--calls N] [--seconds N] [--least N] [--processes N] [--threads N]
 *	      [--keep FILE] [--replay FILE]
 *
 * The run ends after --calls or --seconds; fewer calls than --least are a failure. A run of one
 * process with one thread is reproducible by its seed if the kernel has no KCOV. If the VM dies,
 * the FILE of --keep has the last program of each thread, for --replay.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "leftover.h"
#include "random.h"
#include "worker.h"

enum {
	PROCESSES_MAX = 16,
	LOOK_US = 20000,
	KILL_EACH = 50,		/* on average, one process is killed in this many rounds */
	DEATH_S = 60,
	TELL_S = 15,
};

struct limits {
	uint64_t calls;
	uint64_t seconds;
	uint64_t least;
	unsigned int processes;
};

struct child {
	pid_t pid;
	unsigned int lives;
};

static struct child children[PROCESSES_MAX];

static time_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static void start(struct fuzz *fuzz, unsigned int number)
{
	struct child *child = &children[number];

	child->pid = fork();
	if (!child->pid)
		worker_run(fuzz, number, child->lives);
	child->lives++;
}

/* Fail if a worker could not start: without the workers that are ordinary users, only root would make calls. */
static void check_end(int status)
{
	if (!WIFEXITED(status) || !WEXITSTATUS(status))
		return;
	fprintf(stderr, "calls: a worker process could not start: status %d\n", WEXITSTATUS(status));
	exit(2);
}

static void start_ended(struct fuzz *fuzz, unsigned int processes)
{
	unsigned int i;
	int status = 0;

	for (i = 0; i < processes; i++) {
		if (children[i].pid > 0 && waitpid(children[i].pid, &status, WNOHANG) != children[i].pid)
			continue;
		if (children[i].pid > 0)
			check_end(status);
		start(fuzz, i);
	}
}

/* Never kill a single process: its run must be reproducible. */
static void kill_one(uint64_t *seed, unsigned int processes)
{
	const struct child *child = &children[random_below(seed, processes)];

	if (processes > 1 && child->pid > 0 && !random_below(seed, KILL_EACH))
		kill(child->pid, SIGKILL);
}

static void tell(const struct fuzz *fuzz)
{
	printf("# %llu calls in %llu programs, %u programs kept, %u places reached\n", (unsigned long long)fuzz->calls,
	       (unsigned long long)fuzz->programs, fuzz->corpus.count, fuzz->corpus.edges);
	fflush(stdout);
}

static void run(struct fuzz *fuzz, const struct limits *limits)
{
	time_t begin = seconds(), told = begin, now = begin;
	uint64_t seed = fuzz->seed;

	while (__atomic_load_n(&fuzz->calls, __ATOMIC_RELAXED) < limits->calls &&
	       (uint64_t)(now - begin) < limits->seconds) {
		start_ended(fuzz, limits->processes);
		usleep(LOOK_US);
		kill_one(&seed, limits->processes);
		now = seconds();
		if (now - told >= TELL_S) {
			tell(fuzz);
			told = now;
		}
	}
}

static void tell_where(pid_t pid)
{
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stack", pid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file))
		printf("#   %s", line);
	if (file)
		fclose(file);
}

/* Kill @pid. True: the process has ended. */
static bool end(pid_t pid, time_t last)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, WNOHANG) != pid) {
		if (seconds() > last) {
			tell_where(pid);
			return false;
		}
		usleep(LOOK_US);
	}
	return true;
}

static bool end_all(unsigned int processes)
{
	time_t last = seconds() + DEATH_S;
	unsigned int i;
	bool all = true;

	for (i = 0; i < processes; i++)
		if (children[i].pid > 0)
			all &= end(children[i].pid, last);
	return all;
}

static bool say(bool is, const char *name, const char *why)
{
	printf("%sok %s%s%s\n", is ? "" : "not ", name, is ? "" : ": ", is ? "" : why);
	return is;
}

static int judge(const struct fuzz *fuzz, const struct limits *limits)
{
	char why[LEFTOVER_MAX] = "";
	bool good = say(fuzz->calls >= limits->least, "calls_are_made", "too few, see above");

	good &= say(end_all(limits->processes), "each_process_can_be_killed", "one hangs in the kernel, see above");
	good &= say(leftover_none(why), "nothing_is_left", why);
	return good ? 0 : 1;
}

static void *shared(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (at != MAP_FAILED)
		return at;
	perror("calls: mmap");
	exit(2);
}

static int open_or_exit(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0644);

	if (fd >= 0)
		return fd;
	fprintf(stderr, "calls: %s: %s\n", path, strerror(errno));
	exit(2);
}

static const struct program *read_programs(const char *path)
{
	struct program *programs = calloc(PROCESSES_MAX * THREADS_MAX, sizeof(*programs));
	int fd = open_or_exit(path, O_RDONLY);
	size_t i;

	if (!programs || read(fd, programs, PROCESSES_MAX * THREADS_MAX * sizeof(*programs)) < (ssize_t)sizeof(*programs)) {
		fprintf(stderr, "calls: %s: no program in it; give a file that --keep has written\n", path);
		exit(2);
	}
	for (i = 0; i < PROCESSES_MAX * THREADS_MAX; i++)
		if (programs[i].length > PROGRAM_BYTES)
			programs[i].length = PROGRAM_BYTES;
	close(fd);
	return programs;
}

static unsigned int number_up_to(const char *text, unsigned int max)
{
	unsigned long n = strtoul(text, NULL, 10);

	return n < 1 ? 1 : n > max ? max : (unsigned int)n;
}

static void take_option(int option, struct fuzz *fuzz, struct limits *limits)
{
	switch (option) {
	case 's': fuzz->seed = strtoull(optarg, NULL, 0); break;
	case 'c': limits->calls = strtoull(optarg, NULL, 0); break;
	case 'S': limits->seconds = strtoull(optarg, NULL, 0); break;
	case 'l': limits->least = strtoull(optarg, NULL, 0); break;
	case 'p': limits->processes = number_up_to(optarg, PROCESSES_MAX); break;
	case 't': fuzz->threads = number_up_to(optarg, THREADS_MAX); break;
	case 'k': fuzz->keep = open_or_exit(optarg, O_RDWR | O_CREAT); break;
	case 'r': fuzz->replay = read_programs(optarg); break;
	default: exit(2);
	}
}

static void take_options(int argc, char **argv, struct fuzz *fuzz, struct limits *limits)
{
	static const struct option options[] = {
		{ "seed", required_argument, NULL, 's' }, { "calls", required_argument, NULL, 'c' },
		{ "seconds", required_argument, NULL, 'S' }, { "processes", required_argument, NULL, 'p' },
		{ "least", required_argument, NULL, 'l' },
		{ "threads", required_argument, NULL, 't' }, { "keep", required_argument, NULL, 'k' },
		{ "replay", required_argument, NULL, 'r' }, { 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		take_option(option, fuzz, limits);
}

int main(int argc, char **argv)
{
	struct fuzz *fuzz = shared(sizeof(*fuzz));
	struct limits limits = { .calls = UINT64_MAX, .seconds = 60, .least = 1, .processes = 4 };

	*fuzz = (struct fuzz){ .seed = 1, .threads = 3, .keep = -1 };
	take_options(argc, argv, fuzz, &limits);
	if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fuzz->friend)) {
		perror("calls: socketpair");
		return 2;
	}
	printf("# seed %llu\n", (unsigned long long)fuzz->seed);
	run(fuzz, &limits);
	tell(fuzz);
	leftover_tell();
	/* Close the files in transit between processes. */
	close(fuzz->friend[0]);
	close(fuzz->friend[1]);
	return judge(fuzz, &limits);
}

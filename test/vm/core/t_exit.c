// SPDX-License-Identifier: MIT
/* The cost of the exit of a process grows with its regions, not with its regions times its descriptors. */
#include <sys/resource.h>
#include <sys/wait.h>

#include "pin.h"
#include "test/vm/harness/vmtest.h"
#include "watch.h"

enum {
	PAGE = 4096,
	IDS = 4000,		/* regions, and as many watches */
	DESCRIPTORS = 4000,	/* of one file */
	ROUNDS = 3,
	SLACK_MS = 100,		/* for the descriptors themselves */
};

static char *page;
static uint64_t *exiting;	/* shared with the child */

SETUP(everything_is_there)
{
	const struct rlimit many = { 2 * DESCRIPTORS, 2 * DESCRIPTORS };

	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	exiting = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT(page != MAP_FAILED && exiting != MAP_FAILED, "mmap");
	EXPECT(!setrlimit(RLIMIT_NOFILE, &many), "RLIMIT_NOFILE: %d", errno);
}

/* Exits with status 0 if all regions, watches and descriptors were made. */
static void child(unsigned int descriptors)
{
	struct peerpin_watch watch;
	struct peerpin_pin pin;
	int fd = pin_open();

	for (unsigned int i = 0; i < IDS; i++)
		if (pin_by(fd, (uintptr_t)page, PAGE, PEERPIN_PROVIDER_HOST, &pin) || watch_at(fd, page, PAGE, &watch))
			_exit(1);
	while (--descriptors)
		if (dup(fd) < 0)
			_exit(2);
	*exiting = now_ns();
	_exit(0);
}

/* Least time of an exit with so many descriptors of one file; 0: the child failed */
static uint64_t exit_ns(unsigned int descriptors)
{
	uint64_t least = 0, ns;
	int status;
	pid_t pid;

	for (unsigned int i = 0; i < ROUNDS; i++) {
		pid = fork();
		if (!pid)
			child(descriptors);
		if (waitpid(pid, &status, 0) != pid || status)
			return 0;
		ns = now_ns() - *exiting;
		least = !least || ns < least ? ns : least;
	}
	return least;
}

CASE(exit_with_many_descriptors_is_quick)
{
	uint64_t one = exit_ns(1), many = exit_ns(DESCRIPTORS);

	EXPECT(one && many, "pins and watches: %lu, %lu", one, many);
	printf("# exit with 1 descriptor %lu us, with %d %lu us\n", one / 1000, DESCRIPTORS, many / 1000);
	EXPECT(many < 5 * one + SLACK_MS * 1000000ull, "%lu us, with one descriptor %lu us", many / 1000, one / 1000);
}

VMTEST_MAIN

/* SPDX-License-Identifier: MIT */
/* The test program of the driver's author: one or more processes of it, and their children. */
#ifndef JUDGE_TEST_H
#define JUDGE_TEST_H

#include <stdbool.h>
#include <sys/types.h>

#include "plan.h"
#include "emu/judge/share.h"

enum test_end { TEST_EXIT, TEST_SIGNAL, TEST_TIMEOUT };

/**
 * struct test - a process of the test program
 * @share: memory shared with the shim in the process
 * @end: how it ended, with the status or signal in @value
 * @where: TEST_TIMEOUT: its kernel stack
 */
struct test {
	pid_t pid;
	int pidfd;
	struct share *share;
	int share_fd;
	bool ended;
	enum test_end end;
	int value;
	char where[160];
};

/**
 * struct tests - the test processes of a scenario
 * @answer: handles a request of the shim; returns whether it succeeded
 * @spared: a child of the guest that may outlive the tests; 0: none, or it has ended
 * @stuck: a process could not be killed
 * @child_stuck: that process is a child of a test
 * @child_where: the kernel stack of that child
 */
struct tests {
	size_t nr;
	struct test at[PLAN_COPIES_MAX];
	bool (*answer)(enum share_ask ask);
	pid_t spared;
	int output;
	int requests;
	bool stuck;
	bool child_stuck;
	char child_where[160];
};

/** tests_init - call once; 0, or -errno if the kernel has no list of a process's children in /proc */
int tests_init(void);

/** tests_open - create the shares; the caller may then set orders in them; 0 or -errno */
int tests_open(struct tests *tests, size_t nr);

/** tests_run - run the tests until they and their children have ended; kill them after a time-out */
int tests_run(struct tests *tests, const struct scenario *scenario, char **argv);

/** tests_not_begun - the exit status means that a program or library is missing or unfit, and the driver was not called */
bool tests_not_begun(const struct tests *tests);

/** tests_output - the last non-empty line of their output */
const char *tests_output(void);

void tests_close(struct tests *tests);

#endif

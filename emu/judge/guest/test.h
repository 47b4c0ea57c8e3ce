/* SPDX-License-Identifier: MIT */
/* The processes that run the test program of the driver's author, and their children. */
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
 * @ended: the process has ended and was reaped
 * @end: how the process ended; @value has its exit status or signal
 * @where: kernel stack of the process, if @end is TEST_TIMEOUT
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
 * @answer: handles a request of the shim; returns true on success
 * @spared: pid of a child of the guest that may outlive the tests; 0: no such child runs
 * @stuck: a process could not be killed
 * @child_stuck: a child of a test could not be killed
 * @child_where: kernel stack of the child that could not be killed
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

/** tests_init - call once; returns 0, or -errno if /proc does not list the children of a process */
int tests_init(void);

/** tests_open - create the shares, in which the caller then sets orders; returns 0 or -errno */
int tests_open(struct tests *tests, size_t nr);

/** tests_run - run the tests until they and their children have ended; kill them after a time-out */
int tests_run(struct tests *tests, const struct scenario *scenario, char **argv);

/** tests_not_begun - whether the test program could not start, e.g. without a library, so it called no driver */
bool tests_not_begun(const struct tests *tests);

/** tests_output - the last non-empty line of the tests' output */
const char *tests_output(void);

void tests_close(struct tests *tests);

#endif

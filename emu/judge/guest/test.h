/* SPDX-License-Identifier: MIT */
/* The author's test program: one or more processes of it, and whatever they start. */
#ifndef JUDGE_TEST_H
#define JUDGE_TEST_H

#include <stdbool.h>
#include <sys/types.h>

#include "plan.h"
#include "emu/judge/share.h"

enum test_end { TEST_EXIT, TEST_SIGNAL, TEST_TIMEOUT };

/**
 * struct test - a process of it
 * @share: mapped with the shim in it
 * @end: how it ended; with @value: status or signal
 * @where: TEST_TIMEOUT: where in the kernel it was
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
 * struct tests - those of a scenario
 * @answer: does what the shim asks for; returns whether it was done
 * @spared: a child that is none of the tests', and may go on after them; 0: there is none, or it has ended
 * @stuck: something could not be killed
 * @child_stuck: it is none of the tests, but what they have started
 * @child_where: where in the kernel that is
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

/** tests_init - once in the guest; 0, or -errno: the kernel does not tell a process its children */
int tests_init(void);

/** tests_open - make the shares, which may be changed then; 0 or -errno */
int tests_open(struct tests *tests, size_t nr);

/** tests_run - until all have ended and all they have started, killed if it must be */
int tests_run(struct tests *tests, const struct scenario *scenario, char **argv);

/** tests_not_begun - its status says that a program or a library was not there or not fit, and it has done nothing */
bool tests_not_begun(const struct tests *tests);

/** tests_output - the last line that is not empty of what they printed */
const char *tests_output(void);

void tests_close(struct tests *tests);

#endif

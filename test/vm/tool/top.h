/* SPDX-License-Identifier: MIT */
/* Processes that hold pinned memory, so that peerpin top can show them. */
#ifndef TEST_TOP_H
#define TEST_TOP_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "test/vm/core/pin.h"
#include "test/vm/harness/vmtest.h"

enum {
	PAGE = 4096,
};

static char peerpin[128];
static pid_t holders[16];
static int nr_holders;

/* ---- processes that hold pins --------------------------------------------- */

static inline char *host_memory(size_t pages)
{
	return mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
}

static inline int pin_host(unsigned int regions)
{
	char *memory = host_memory(1);
	struct peerpin_pin p;
	int fd = pin_open();

	while (regions--)
		if (pin_at(fd, (uintptr_t)memory, PAGE, &p))
			return 1;
	return 0;
}

/* Find the tool that was built with this program. */
static inline bool find_peerpin(void)
{
	char self[128] = "";
	char *slash;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return false;
	slash = strrchr(self, '/');
	snprintf(peerpin, sizeof(peerpin), "%.*s/../peerpin", (int)(slash - self), self);
	return !access(peerpin, X_OK);
}

/* Start a process that runs @run. It reports after @run; @goes_on: before @run. False: no report came. */
static inline bool start(const char *name, int (*run)(unsigned int n), unsigned int n, bool goes_on)
{
	int said[2];
	char c;
	bool ok;

	if (pipe(said))
		return false;
	holders[nr_holders] = fork();
	if (!holders[nr_holders]) {
		prctl(PR_SET_NAME, name);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (goes_on && write(said[1], "", 1) != 1)
			_exit(2);
		if (run(n) || write(said[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	nr_holders++;
	close(said[1]);
	ok = read(said[0], &c, 1) == 1;
	close(said[0]);
	return ok;
}

static inline void end_holders(void)
{
	while (nr_holders) {
		kill(holders[--nr_holders], SIGKILL);
		waitpid(holders[nr_holders], NULL, 0);
	}
}

#endif

/* SPDX-License-Identifier: MIT */
/* Processes that hold pinned memory, so that peerpin top and metrics can show them. */
#ifndef TEST_TOP_H
#define TEST_TOP_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <libpeerpin.h>
#include "test/vm/core/pin.h"
#include "test/vm/harness/emu.h"
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

/* ---- processes that do something, for start() ------------------------------- */

/* Pin and unpin a page repeatedly. */
static inline int pin_again_and_again(unsigned int unused)
{
	char *memory = host_memory(1);
	struct peerpin_pin p;
	int fd = pin_open();

	(void)unused;
	while (!pin_at(fd, (uintptr_t)memory, PAGE, &p) && !unpin(fd, p.out_region))
		usleep(1000);
	return 1;
}

/* Pin GPU memory, and free it while it is pinned, repeatedly. */
static inline int lose(unsigned int unused)
{
	int gpu = emu_open(), fd = pin_open();
	struct peerpin_pin p;

	(void)unused;
	while (!emu_alloc(gpu, GPU_B, 2 << 20) && !pin_at(fd, GPU_B, 2 << 20, &p) && !emu_free(gpu, GPU_B) &&
	       !unpin(fd, p.out_region))
		usleep(1000);
	return 1;
}

/* Use a cache with published counters and hits. */
static inline int hit(unsigned int unused)
{
	const struct pp_cache_attr attr = { 0 };
	const struct pp_cache_entry *e;
	char *memory = host_memory(1);
	struct pp_cache *cache;
	struct pp_ctx *ctx;

	(void)unused;
	setenv("PEERPIN_PUBLISH", "1", 1);
	if (pp_open(&ctx) || pp_cache_create_ctx(ctx, &attr, &cache))
		return 1;
	while (!pp_cache_get(cache, memory, PAGE, &e, NULL)) {
		pp_cache_put(cache, e);
		usleep(1000);
	}
	return 1;
}

/* ---- running peerpin -------------------------------------------------------- */

static char said[1 << 16];

/* Run peerpin as user @uid. @said gets the output. Returns the wait status. */
static inline int lines(uid_t uid, char **argv)
{
	int out[2], status = -1;
	size_t length = 0;
	ssize_t n;
	pid_t pid;

	if (pipe(out))
		return -1;
	pid = fork();
	if (!pid) {
		dup2(out[1], STDOUT_FILENO);
		if (setgid(uid) || setuid(uid))
			_exit(126);
		execv(argv[0], argv);
		_exit(127);
	}
	close(out[1]);
	while ((n = read(out[0], said + length, sizeof(said) - 1 - length)) > 0)
		length += n;
	said[length] = '\0';
	close(out[0]);
	waitpid(pid, &status, 0);
	return status;
}

#endif

// SPDX-License-Identifier: MIT
/*
 * The import of libpeerpin-fi's monitor into fake_fabric.c. The functions pp_sys_*() below are a kernel whose watches
 * never change. A process imports once, so each case is a child.
 */
#include <dlfcn.h>
#include <errno.h>
#include <peerpin.h>
#include <rdma/fi_ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/sys/sys.h"
#include "libpeerpin-fi.h"
#include "test/unit/mock/fake_fabric.h"
#include "test/unit/unit.h"

enum { PATIENCE_S = 20 };

/* ---- the kernel -------------------------------------------------------------------------- */

static uint32_t words[PEERPIN_MAX_REGIONS + PEERPIN_MAX_WATCHES];

int pp_sys_open(const char *path)
{
	(void)path;
	return 1000;
}

void pp_sys_close(int fd)
{
	(void)fd;
}

int pp_sys_map(int fd, size_t length, void **out)
{
	(void)fd, (void)length;
	*out = words;
	return 0;
}

int pp_sys_unmap(void *at, size_t length)
{
	(void)at, (void)length;
	return 0;
}

int pp_sys_ioctl(int fd, unsigned long cmd, void *arg)
{
	(void)fd, (void)cmd, (void)arg;
	return 0;
}

/* ---- a case: each returns 0, or the line that failed -------------------------------------- */

#define NEED(condition) \
	do { \
		if (!(condition)) \
			return __LINE__ % 128; \
	} while (0)

/* Returns what the child returned, or FAKE_LEFT if it left the monitor imported at its exit. */
static int run(int (*child)(void))
{
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		alarm(PATIENCE_S);
		exit(child());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static struct fid_mem_monitor *imported(void)
{
	struct fid_mem_monitor *(*monitor)(void);

	*(void **)&monitor = dlsym(dlopen("libfabric.so.1", RTLD_NOW | RTLD_NOLOAD), "fake_monitor");
	return monitor();
}

static int load_fabric(void)
{
	return !dlopen(BUILD "/bin/test/fake/libfabric.so.1", RTLD_NOW);
}

/* ---- the exit ------------------------------------------------------------------------------ */

static int import(void)
{
	NEED(!load_fabric());
	NEED(!pp_fi_import());
	NEED(imported());
	return 0;
}

static void exit_closes_unused_monitor(void **state)
{
	(void)state;
	assert_int_equal(run(import), 0);
}

static int open_cache(void)
{
	NEED(!import());
	NEED(!imported()->export_ops->start(imported()));
	return 0;
}

static int open_and_close_cache(void)
{
	NEED(!open_cache());
	imported()->export_ops->stop(imported());
	return 0;
}

static void exit_closes_monitor_without_cache(void **state)
{
	(void)state;
	assert_int_equal(run(open_and_close_cache), 0);
}

/* A cache would call the closed monitor by a null pointer. */
static void exit_keeps_monitor_of_a_cache(void **state)
{
	(void)state;
	assert_int_equal(run(open_cache), FAKE_LEFT);
}

static int open_cache_again(void)
{
	NEED(!open_and_close_cache());
	NEED(!imported()->export_ops->start(imported()));
	return 0;
}

static void exit_keeps_monitor_of_a_later_cache(void **state)
{
	(void)state;
	assert_int_equal(run(open_cache_again), FAKE_LEFT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_closes_unused_monitor),
		cmocka_unit_test(exit_closes_monitor_without_cache),
		cmocka_unit_test(exit_keeps_monitor_of_a_cache),
		cmocka_unit_test(exit_keeps_monitor_of_a_later_cache),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
/*
 * pp_fi_import() with fake_fabric.c in the place of libfabric. The functions pp_sys_*() below replace the system calls of
 * the library; no watch changes. A process imports once, so each case runs in a child.
 */
#include <dlfcn.h>
#include <errno.h>
#include <peerpin.h>
#include <pthread.h>
#include <rdma/fi_ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* ---- the child of a case; 0, or a number from the line that failed ------------------------- */

#define NEED(condition) \
	do { \
		if (!(condition)) \
			return __LINE__ % 127 + 1; \
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

/* ---- a cancelled thread -------------------------------------------------------------------- */

static void *import_cancelled(void *arg)
{
	pthread_cancel(pthread_self());
	return pp_fi_import() ? NULL : arg;
}

/* fake_fabric's fi_open() is a cancellation point, which pp_fi_import() calls with its lock held. */
static int import_in_cancelled_thread(void)
{
	pthread_t thread;
	void *end;

	NEED(!load_fabric());
	NEED(!pthread_create(&thread, NULL, import_cancelled, words));
	NEED(!pthread_join(thread, &end));
	NEED(end == words);
	NEED(!pp_fi_import());
	NEED(imported());
	return 0;
}

static void cancelled_thread_imports(void **state)
{
	(void)state;
	assert_int_equal(run(import_in_cancelled_thread), 0);
}

/* ---- versions ------------------------------------------------------------------------------ */

static void become_version(uint32_t version)
{
	*(uint32_t *)dlsym(dlopen("libfabric.so.1", RTLD_NOW | RTLD_NOLOAD), "fake_version") = version;
}

static int import_of_1_13(void)
{
	NEED(!load_fabric());
	become_version(FI_VERSION(1, 13));
	NEED(pp_fi_import() == -EOPNOTSUPP);
	NEED(!imported());
	return 0;
}

static int import_of_1_14(void)
{
	NEED(!load_fabric());
	become_version(FI_VERSION(1, 14));
	NEED(!pp_fi_import());
	NEED(imported());
	return 0;
}

/* libfabric 1.13.0 crashes when a monitor is imported. */
static void version_before_1_14_is_refused(void **state)
{
	(void)state;
	assert_int_equal(run(import_of_1_13), 0);
	assert_int_equal(run(import_of_1_14), 0);
}

/* ---- provider modules ---------------------------------------------------------------------- */

/* The preloaded functions of libfabric */
int pp_fi_fabric_1_1(void *attr, void *out, void *context);
int pp_fi_open(uint32_t version, const char *name, void *attr, size_t attr_len, uint64_t flags, struct fid **out,
	       void *context);

#define MODULE(name) (BUILD "/bin/test/fake/lib" name "-fi.so")

static bool load(const char *module)
{
	return dlopen(module, RTLD_NOW);
}

/* Other providers of this libfabric may have the monitor. */
static int import_beside_module(void)
{
	NEED(!load_fabric());
	NEED(load(MODULE("verbs")));
	NEED(pp_fi_import() == -EOPNOTSUPP);
	NEED(pp_fi_import() == -EOPNOTSUPP);
	NEED(imported());
	return 0;
}

static int import_beside_module_with_version(void)
{
	NEED(!load_fabric());
	NEED(load(MODULE("verbs-1.12")));
	NEED(pp_fi_import() == -EOPNOTSUPP);
	return 0;
}

static void module_with_a_cache_is_reported(void **state)
{
	(void)state;
	assert_int_equal(run(import_beside_module), 0);
	assert_int_equal(run(import_beside_module_with_version), 0);
}

/* The import may come before fi_getinfo(), which loads modules. */
static int load_module_after_import(void)
{
	NEED(!import());
	NEED(load(MODULE("verbs")));
	NEED(pp_fi_import() == -EOPNOTSUPP);
	return 0;
}

static void later_module_is_reported(void **state)
{
	(void)state;
	assert_int_equal(run(load_module_after_import), 0);
}

static int import_beside_module_without_cache(void)
{
	NEED(load(MODULE("shm")));
	return import();
}

static void module_without_cache_is_not_reported(void **state)
{
	(void)state;
	assert_int_equal(run(import_beside_module_without_cache), 0);
}

/* Stores what the calls print on stderr at @out, of @size bytes. */
static int open_fabrics(char *out, size_t size)
{
	struct fid *cache;
	int ends[2];
	ssize_t n;

	NEED(!load_fabric());
	NEED(!pipe(ends) && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
	NEED(!pp_fi_open(0, "mr_cache", NULL, 0, 0, &cache, NULL));
	NEED(load(MODULE("verbs")));
	pp_fi_fabric_1_1(NULL, NULL, NULL);
	pp_fi_fabric_1_1(NULL, NULL, NULL);
	close(ends[1]);
	close(STDERR_FILENO);
	n = read(ends[0], out, size - 1);
	NEED(n >= 0);
	out[n] = 0;
	return 0;
}

static int compare_line(void)
{
	char said[512] = "";

	NEED(!open_fabrics(said, sizeof(said)));
	NEED(!strcmp(said, "libpeerpin-fi: the cache of libverbs-fi.so has its own memory monitor and may miss frees; start the "
			   "program without libpeerpin-fi: FI_MR_CACHE_MONITOR=userfaultfd COMMAND\n"));
	return 0;
}

static void preloaded_library_names_module_once(void **state)
{
	(void)state;
	assert_int_equal(run(compare_line), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_closes_unused_monitor),
		cmocka_unit_test(exit_closes_monitor_without_cache),
		cmocka_unit_test(exit_keeps_monitor_of_a_cache),
		cmocka_unit_test(exit_keeps_monitor_of_a_later_cache),
		cmocka_unit_test(cancelled_thread_imports),
		cmocka_unit_test(version_before_1_14_is_refused),
		cmocka_unit_test(module_with_a_cache_is_reported),
		cmocka_unit_test(later_module_is_reported),
		cmocka_unit_test(module_without_cache_is_not_reported),
		cmocka_unit_test(preloaded_library_names_module_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

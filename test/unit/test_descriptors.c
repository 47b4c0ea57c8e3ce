// SPDX-License-Identifier: MIT
/* Descriptors of a program that has closed the first three, as daemons do */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../../lib/published.h"
#include "file_sys.h"
#include "libpeerpin.h"
#include "sys.h"
#include "unit.h"

enum { CLOSED = STDERR_FILENO };

static int saved;

static int setup(void **state)
{
	(void)state;
	saved = fcntl(CLOSED, F_DUPFD_CLOEXEC, 100);
	close(CLOSED);
	return saved < 0;
}

static int teardown(void **state)
{
	(void)state;
	return dup2(saved, CLOSED) < 0 || close(saved);
}

static void is_above(int fd)
{
	int flags = fcntl(fd, F_GETFD), lowest = dup(saved);

	close(fd);
	close(lowest);
	assert_true(fd > STDERR_FILENO);
	assert_int_equal(flags, FD_CLOEXEC);
	/* nor is one left there */
	assert_int_equal(lowest, CLOSED);
}

static void devices(void **state)
{
	(void)state;
	is_above(pp_sys_open("/dev/null"));
}

static void files(void **state)
{
	(void)state;
	is_above(pp_file_sys_dup(saved));
	is_above(pp_file_sys_reopen(saved, O_RDONLY));
}

static bool is_publication(int fd)
{
	char path[32], target[64] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return readlink(path, target, sizeof(target) - 1) > 0 && strstr(target, PP_PUBLISHED_NAME);
}

static int pin(void *arg, uint64_t addr, uint64_t length, void **reg, struct pp_why *why)
{
	(void)arg, (void)addr, (void)length, (void)reg, (void)why;
	return -EIO;
}

static void unpin(void *arg, void *reg)
{
	(void)arg, (void)reg;
}

static void publications(void **state)
{
	static const struct pp_cache_ops ops = { .pin = pin, .unpin = unpin };
	struct pp_cache *cache;
	int fd = 0;

	(void)state;
	setenv("PEERPIN_PUBLISH", "1", 1);
	assert_int_equal(pp_cache_create(&ops, NULL, NULL, &cache), 0);
	while (fd < 100 && !is_publication(fd))
		fd++;
	pp_cache_destroy(cache);
	assert_in_range(fd, STDERR_FILENO + 1, 99);
}

static void errors_stay(void **state)
{
	(void)state;
	assert_int_equal(pp_sys_open("/dev/null/none"), -ENOTDIR);
	assert_int_equal(pp_file_sys_reopen(-1, O_RDONLY), -ENOENT);
	assert_int_equal(pp_file_sys_dup(-1), -EBADF);
}

static void views_that_are_none(void **state)
{
	(void)state;
	assert_int_equal(pp_sys_unmap((void *)1, 4096), -EINVAL);
	assert_int_equal(pp_sys_unmap(NULL, 0), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(devices, setup, teardown),
		cmocka_unit_test_setup_teardown(files, setup, teardown),
		cmocka_unit_test_setup_teardown(publications, setup, teardown),
		cmocka_unit_test(errors_stay),
		cmocka_unit_test(views_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
/* Descriptors of a program that has closed the first three, as daemons do */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include "file_sys.h"
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
		cmocka_unit_test(errors_stay),
		cmocka_unit_test(views_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

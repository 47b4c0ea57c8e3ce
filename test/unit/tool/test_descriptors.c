// SPDX-License-Identifier: MIT
/* A daemon may have closed its first three descriptors. The library must not open its own files there. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/cache/published.h"
#include "lib/transfer/file_sys.h"
#include "libpeerpin.h"
#include "test/unit/mock/mock_cuda.h"
#include "lib/region/region.h"
#include "lib/sys/sys.h"
#include "test/unit/unit.h"

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
	/* All lower descriptors must be closed again. */
	assert_int_equal(lowest, CLOSED);
}

static void device_descriptor_is_above_stderr(void **state)
{
	(void)state;
	is_above(pp_sys_open("/dev/null"));
}

static void file_descriptors_are_above_stderr(void **state)
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

static void publication_is_above_stderr(void **state)
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

#define GPU 0x200000000

static void driver_dmabuf_is_above_stderr(void **state)
{
	struct pp_dmabuf d = { .fd = -1 };

	(void)state;
	mock_cuda_reset();
	mock_allocations[0] = (struct mock_allocation){ .base = GPU, .size = 65536, .id = 1 };
	mock_cuda_fd = fcntl(saved, F_DUPFD_CLOEXEC, 0);
	assert_int_equal(mock_cuda_fd, CLOSED);
	assert_int_equal(pp_dmabuf_export((void *)GPU, 4096, &d, NULL), 0);
	is_above(d.fd);
}

/* Replaces the kernel's side of an export. */
int pp_sys_ioctl(int fd, unsigned long cmd, void *arg)
{
	struct peerpin_export *export = arg;

	assert_int_equal(cmd, PEERPIN_IOC_EXPORT);
	export->out_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return 0;
}

static void region_dmabuf_is_above_stderr(void **state)
{
	static const struct pp_region region = { .length = 4096 };
	_Atomic(uint32_t) epoch = 0;
	struct pp_ctx ctx = { .fd = saved, .mark = pp_process_mark(), .epochs = &epoch };
	int fd = -1;

	(void)state;
	assert_int_equal(pp_region_export(&ctx, &region, 0, 4096, &fd), 0);
	is_above(fd);
}

static void errors_are_passed_on(void **state)
{
	(void)state;
	assert_int_equal(pp_sys_open("/dev/null/none"), -ENOTDIR);
	assert_int_equal(pp_file_sys_reopen(-1, O_RDONLY), -ENOENT);
	assert_int_equal(pp_file_sys_dup(-1), -EBADF);
}

static void unmapping_no_view_fails(void **state)
{
	(void)state;
	assert_int_equal(pp_sys_unmap((void *)1, 4096), -EINVAL);
	assert_int_equal(pp_sys_unmap(NULL, 0), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(device_descriptor_is_above_stderr, setup, teardown),
		cmocka_unit_test_setup_teardown(file_descriptors_are_above_stderr, setup, teardown),
		cmocka_unit_test_setup_teardown(publication_is_above_stderr, setup, teardown),
		cmocka_unit_test_setup_teardown(driver_dmabuf_is_above_stderr, setup, teardown),
		cmocka_unit_test_setup_teardown(region_dmabuf_is_above_stderr, setup, teardown),
		cmocka_unit_test(errors_are_passed_on),
		cmocka_unit_test(unmapping_no_view_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

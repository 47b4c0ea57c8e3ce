// SPDX-License-Identifier: MIT
#include <errno.h>
#include <peerpin.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "libpeerpin.h"
#include "test/unit/mock/mock_cuda.h"
#include "test/unit/mock/mock_kernel.h"
#include "test/unit/unit.h"

enum {
	ID = 5,
	EPOCH = 3,
	PAGES = 16,
};

static struct pp_ctx *ctx;
static const struct pp_region region = {
	.addr = 0x10000, .length = PAGES * 4096, .page_size = 4096, .id = ID, .slot = ID, .epoch = EPOCH,
};

static int setup(void **state)
{
	(void)state;
	mock_reset();
	mock_cuda_reset();
	mock_epochs[ID] = EPOCH;
	return pp_open(&ctx);
}

static int teardown(void **state)
{
	(void)state;
	pp_close(ctx);
	return 0;
}

static void maps_a_part(void **state)
{
	void *view = NULL;

	(void)state;
	errno = 1234;
	assert_int_equal(pp_region_map(ctx, &region, 8192, 4096, PROT_READ, &view), 0);
	assert_ptr_equal(view, mock_view_at);
	assert_true(mock_view.offset == PEERPIN_MMAP_OFFSET(ID) + 8192);
	assert_int_equal(mock_view.length, 4096);
	assert_int_equal(mock_view.prot, PROT_READ);
	assert_int_equal(errno, 1234);
}

static void maps_the_whole_for_writing(void **state)
{
	void *view;

	(void)state;
	assert_int_equal(pp_region_map(ctx, &region, 0, PAGES * 4096, PROT_READ | PROT_WRITE, &view), 0);
	assert_true(mock_view.offset == PEERPIN_MMAP_OFFSET(ID));
	assert_int_equal(mock_view.length, PAGES * 4096);
	assert_int_equal(mock_view.prot, PROT_READ | PROT_WRITE);
}

static void range_past_end_is_refused(void **state)
{
	void *view;

	(void)state;
	assert_int_equal(pp_region_map(ctx, &region, 0, PAGES * 4096 + 1, PROT_READ, &view), -EINVAL);
	assert_int_equal(pp_region_map(ctx, &region, PAGES * 4096, 1, PROT_READ, &view), -EINVAL);
	assert_int_equal(pp_region_map(ctx, &region, PEERPIN_MMAP_SPAN, 4096, PROT_READ, &view), -EINVAL);
	assert_int_equal(pp_region_map(ctx, &region, ~0ull - 4095, 8192, PROT_READ, &view), -EINVAL);
	assert_int_equal(mock_view.calls, 0);
}

static int unsupported(void)
{
	return -EOPNOTSUPP;
}

static int unknown(void)
{
	return -ENOENT;
}

static void kernel_errors_are_passed_on(void **state)
{
	void *view = &ctx;

	(void)state;
	mock_view.answer = unsupported;
	assert_int_equal(pp_region_map(ctx, &region, 0, 4096, PROT_READ, &view), -EOPNOTSUPP);
	mock_view.answer = unknown;
	assert_int_equal(pp_region_map(ctx, &region, 0, 4096, PROT_READ, &view), -ESTALE);
	assert_ptr_equal(view, &ctx);
	assert_int_equal(mock_view.unmapped, 0);
}

static int given_to_the_next(void)
{
	mock_epochs[ID] = EPOCH + 2;
	return 0;
}

/* Another thread unpinned the region, its id went to a new region, and the kernel mapped the new region. */
static void reused_region_id_is_unmapped(void **state)
{
	void *view = NULL;

	(void)state;
	mock_view.answer = given_to_the_next;
	assert_int_equal(pp_region_map(ctx, &region, 0, 8192, PROT_READ, &view), -ESTALE);
	assert_null(view);
	assert_int_equal(mock_view.unmapped, 8192);
}

static void unmap_reaches_kernel(void **state)
{
	(void)state;
	assert_int_equal(pp_region_unmap(ctx, mock_view_at, 4096), 0);
	assert_int_equal(mock_view.unmapped, 4096);
}

static int in_child(void)
{
	void *view;

	if (pp_region_map(ctx, &region, 0, 4096, PROT_READ, &view) != -EACCES || mock_view.calls)
		return 1;
	if (pp_region_unmap(ctx, mock_view_at, 4096) != -EACCES || mock_view.unmapped)
		return 2;
	return 0;
}

static void a_child_is_refused(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(in_child());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(maps_a_part),
		TEST(maps_the_whole_for_writing),
		TEST(range_past_end_is_refused),
		TEST(kernel_errors_are_passed_on),
		TEST(reused_region_id_is_unmapped),
		TEST(unmap_reaches_kernel),
		TEST(a_child_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

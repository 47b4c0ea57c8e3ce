// SPDX-License-Identifier: MIT
#include <errno.h>
#include <linux/types.h>
#include <peerpin.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/cuda/cuda_api.h"
#include "libpeerpin.h"
#include "test/unit/mock/mock_cuda.h"
#include "test/unit/mock/mock_kernel.h"
#include "test/unit/unit.h"

enum {
	ID = 5,
	EPOCH = 3,
	PAGES = 16,
};

#define GPU 0x200000000

static struct pp_ctx *ctx;
static struct peerpin_export asked;
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
	mock_done();
	pp_close(ctx);
	return 0;
}

static int exported(void *arg)
{
	struct peerpin_export *c = arg;

	asked = *c;
	c->out_fd = MOCK_DMABUF_FD;
	return 0;
}

static void exports_a_part(void **state)
{
	int fd = -1;

	(void)state;
	mock_expect(PEERPIN_IOC_EXPORT, exported);
	errno = 1234;
	assert_int_equal(pp_region_export(ctx, &region, 8192, 4096, &fd), 0);
	assert_int_equal(fd, MOCK_DMABUF_FD);
	assert_int_equal(asked.size, sizeof(asked));
	assert_int_equal(asked.region, ID);
	assert_int_equal(asked.flags, 0);
	assert_true(asked.offset == 8192 && asked.length == 4096);
	assert_int_equal(errno, 1234);
	assert_int_equal(mock_closed, 0);
}

static void exports_the_whole(void **state)
{
	int fd;

	(void)state;
	mock_expect(PEERPIN_IOC_EXPORT, exported);
	assert_int_equal(pp_region_export(ctx, &region, 0, PAGES * 4096, &fd), 0);
	assert_true(asked.offset == 0 && asked.length == PAGES * 4096);
}

static void range_past_end_is_refused(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(pp_region_export(ctx, &region, 0, PAGES * 4096 + 1, &fd), -EINVAL);
	assert_int_equal(pp_region_export(ctx, &region, PAGES * 4096, 1, &fd), -EINVAL);
	assert_int_equal(pp_region_export(ctx, &region, ~0ull - 4095, 8192, &fd), -EINVAL);
}

static int unsupported(void *arg)
{
	(void)arg;
	return -EOPNOTSUPP;
}

static int unknown(void *arg)
{
	(void)arg;
	return -ENOENT;
}

static void kernel_errors_are_passed_on(void **state)
{
	int fd = -7;

	(void)state;
	mock_expect(PEERPIN_IOC_EXPORT, unsupported);
	assert_int_equal(pp_region_export(ctx, &region, 0, 4096, &fd), -EOPNOTSUPP);
	mock_expect(PEERPIN_IOC_EXPORT, unknown);
	assert_int_equal(pp_region_export(ctx, &region, 0, 4096, &fd), -ESTALE);
	assert_int_equal(fd, -7);
	assert_int_equal(mock_closed, 0);
}

static int given_to_the_next(void *arg)
{
	mock_epochs[ID] = EPOCH + 2;
	return exported(arg);
}

/* Another thread unpinned the region, its id went to a new region, and the kernel exported the new region. */
static void reused_region_id_closes_export(void **state)
{
	int fd = -7;

	(void)state;
	mock_expect(PEERPIN_IOC_EXPORT, given_to_the_next);
	assert_int_equal(pp_region_export(ctx, &region, 0, 8192, &fd), -ESTALE);
	assert_int_equal(fd, -7);
	assert_int_equal(mock_closed, 1);
}

static void *export_cancelled(void *arg)
{
	int fd;

	pthread_cancel(pthread_self());
	*(int *)arg = pp_region_export(ctx, &region, 0, 8192, &fd);
	return arg;
}

static void a_cancelled_thread_leaves_no_descriptor(void **state)
{
	pthread_t thread;
	void *result;
	int ret = 0;

	(void)state;
	mock_expect(PEERPIN_IOC_EXPORT, given_to_the_next);
	assert_int_equal(pthread_create(&thread, NULL, export_cancelled, &ret), 0);
	pthread_join(thread, &result);
	assert_ptr_equal(result, &ret);
	assert_int_equal(ret, -ESTALE);
	assert_int_equal(mock_closed, 1);
}

static int in_child(void)
{
	int fd;

	return pp_region_export(ctx, &region, 0, 4096, &fd) != -EACCES;
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

static void empty_export_gives_no_reason(void **state)
{
	struct pp_why why = { .reason = 7, .needed = 8, .available = 9 };
	struct pp_dmabuf out;

	(void)state;
	assert_int_equal(pp_dmabuf_export((void *)0x10000, 0, &out, NULL), -EINVAL);
	assert_int_equal(pp_dmabuf_export((void *)0x10000, 0, &out, &why), -EINVAL);
	assert_true(!why.reason && !why.needed && !why.available);
}

static int export_with(int error, struct pp_why *why)
{
	struct pp_dmabuf out;

	mock_allocations[0] = (struct mock_allocation){ .base = GPU, .size = 65536, .id = 1 };
	mock_cuda_fd = MOCK_DMABUF_FD;
	mock_cuda_export_error = error;
	return pp_dmabuf_export((void *)GPU, 4096, &out, why);
}

static void descriptor_limit_gives_emfile(void **state)
{
	struct rlimit before, none;
	struct pp_why why;
	int ret;

	(void)state;
	assert_int_equal(export_with(PP_CU_OPERATING_SYSTEM, &why), -EIO);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	ret = export_with(PP_CU_OPERATING_SYSTEM, &why);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(ret, -EMFILE);
	assert_int_equal(why.reason, PEERPIN_REASON_VENDOR_ERROR);
}

static int export_without_a_context(bool pooled)
{
	struct pp_dmabuf out;

	mock_allocations[0] = (struct mock_allocation){ .base = GPU, .size = 65536, .id = 1, .pooled = pooled };
	mock_cuda_fd = MOCK_DMABUF_FD;
	mock_cuda_context = NULL;
	return pp_dmabuf_export((void *)GPU, 4096, &out, NULL);
}

/* A thread has no current context, for example the progress thread of a communication library. */
static void export_works_without_current_context(void **state)
{
	(void)state;
	assert_int_equal(export_without_a_context(false), 0);
	assert_null(mock_cuda_context);
	assert_int_equal(export_without_a_context(true), 0);
	assert_null(mock_cuda_context);
	assert_int_equal(mock_cuda_primaries, 0);
}

static void failing_primary_context_fails_export(void **state)
{
	(void)state;
	mock_cuda_primary_error = PP_CU_OUT_OF_MEMORY;
	assert_int_equal(export_without_a_context(true), -EIO);
	assert_null(mock_cuda_context);
	assert_int_equal(mock_cuda_primaries, 0);
}

/* Exports by one way; returns the flags that the driver accepted, or the error. */
static int way(bool coherent, uint32_t mapping)
{
	struct pp_dmabuf out;
	struct pp_why why;
	int ret;

	mock_allocations[0] = (struct mock_allocation){ .base = GPU, .size = 65536, .id = 1 };
	mock_cuda_fd = MOCK_DMABUF_FD;
	mock_cuda_coherent = coherent;
	ret = pp_dmabuf_export_mapped((void *)GPU, 4096, mapping, &out, &why);
	if (ret)
		assert_int_equal(why.reason, PEERPIN_REASON_NO_API);
	return ret ? ret : (int)mock_cuda_export_flags;
}

static void coherent_memory_is_exported_by_pcie(void **state)
{
	(void)state;
	assert_int_equal(way(true, PP_MAPPING_BEST), 1);
	assert_int_equal(way(true, PP_MAPPING_PCIE), 1);
	assert_int_equal(way(true, PP_MAPPING_DEFAULT), 0);
	assert_int_equal(way(false, PP_MAPPING_BEST), 0);
	assert_int_equal(way(false, PP_MAPPING_DEFAULT), 0);
	assert_int_equal(way(false, PP_MAPPING_PCIE), -EOPNOTSUPP);
}

/* Older drivers do not know the flag: INVALID_VALUE. */
static void best_way_is_one_that_works(void **state)
{
	(void)state;
	mock_cuda_pcie_error = PP_CU_NOT_SUPPORTED;
	assert_int_equal(way(true, PP_MAPPING_BEST), 0);
	assert_int_equal(way(true, PP_MAPPING_PCIE), -EOPNOTSUPP);
	mock_cuda_pcie_error = PP_CU_INVALID_VALUE;
	assert_int_equal(way(true, PP_MAPPING_BEST), 0);
}

/* ---- handles of cuMemMap() side by side ------------------------------------------------ */

#define HANDLE (2ull << 20)

static void map_handles(unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		mock_allocations[i] = (struct mock_allocation){
			.base = GPU + i * HANDLE, .size = HANDLE, .id = i + 1, .reserved = 8 * HANDLE,
		};
	mock_cuda_fd = MOCK_DMABUF_FD;
}

static int export_range(uint64_t addr, uint64_t length, struct pp_dmabuf *out, struct pp_why *why)
{
	return pp_dmabuf_export((void *)(uintptr_t)addr, length, out, why);
}

static void handles_are_exported_together(void **state)
{
	struct pp_dmabuf out;
	struct pp_why why;

	(void)state;
	map_handles(3);
	assert_int_equal(export_range(GPU + HANDLE - 100, HANDLE + 200, &out, &why), 0);
	assert_true(out.addr == GPU + HANDLE - 4096 && out.length == HANDLE + 2 * 4096);
	assert_int_equal(export_range(GPU, 3 * HANDLE, &out, &why), 0);
	assert_int_equal(export_range(GPU, 3 * HANDLE + 1, &out, &why), -EINVAL);
	assert_int_equal(why.reason, PEERPIN_REASON_VENDOR_REFUSED);
}

/* A driver that exports one handle at a time: the reason names the border. */
static void refused_handles_name_the_border(void **state)
{
	struct pp_dmabuf out;
	struct pp_why why;

	(void)state;
	map_handles(3);
	mock_cuda_export_error = PP_CU_INVALID_VALUE;
	assert_int_equal(export_range(GPU + 100, 2 * HANDLE, &out, &why), -EINVAL);
	assert_int_equal(why.reason, PEERPIN_REASON_SPANS);
	assert_true(why.available == GPU + HANDLE);
	assert_int_equal(export_range(GPU + 100, 200, &out, &why), -EINVAL);
	assert_int_equal(why.reason, PEERPIN_REASON_VENDOR_REFUSED);
}

/* Neighbours of cuMemAlloc() do not belong together: a range across their border is an error of the program. */
static void neighbours_are_not_exported_together(void **state)
{
	struct pp_dmabuf out;
	struct pp_why why;

	(void)state;
	map_handles(2);
	mock_allocations[0].reserved = 0;
	mock_allocations[1].reserved = 0;
	assert_int_equal(export_range(GPU, 2 * HANDLE, &out, &why), -EINVAL);
	assert_int_equal(why.reason, PEERPIN_REASON_SPANS);
}

static const struct pp_cache_entry *get(struct pp_cache *cache, uint64_t addr, uint64_t length)
{
	const struct pp_cache_entry *e;

	assert_int_equal(pp_cache_get(cache, (void *)(uintptr_t)addr, length, &e, NULL), 0);
	pp_cache_put(cache, e);
	return e;
}

/* One entry covers whole handles; it ends when any of them is unmapped. */
static void each_handle_of_an_entry_is_checked(void **state)
{
	const struct pp_cache_attr attr = { .watch = PP_WATCH_TAG };
	struct pp_cache_stats stats;
	const struct pp_cache_entry *e;
	struct pp_cache *cache;
	unsigned int i;

	(void)state;
	map_handles(3);
	assert_int_equal(pp_cache_create_dmabuf(&attr, &cache), 0);
	e = get(cache, GPU + HANDLE - 100, HANDLE + 200);
	assert_true(e->addr == GPU && e->length == 3 * HANDLE);
	get(cache, GPU, 3 * HANDLE);
	pp_cache_stats(cache, &stats);
	assert_int_equal(stats.misses, 1);
	for (i = 0; i < 3; i++) {
		mock_allocations[i].id += 10;
		get(cache, GPU, 3 * HANDLE);
		pp_cache_stats(cache, &stats);
		assert_int_equal(stats.misses, 2 + i);
		assert_int_equal(stats.revocations, 1 + i);
	}
	pp_cache_destroy(cache);
}

/* The address of freed memory may never be asked for again: its dma-buf is closed by misses of other ranges. */
static void misses_close_dmabufs_of_freed_memory(void **state)
{
	const struct pp_cache_attr attr = { .watch = PP_WATCH_TAG };
	struct pp_cache_stats stats;
	struct pp_cache *cache;

	(void)state;
	map_handles(4);
	assert_int_equal(pp_cache_create_dmabuf(&attr, &cache), 0);
	get(cache, GPU, 1);
	get(cache, GPU + HANDLE, 1);
	get(cache, GPU + 2 * HANDLE, 1);
	mock_allocations[0].id = 0;
	mock_allocations[1].id += 10;
	get(cache, GPU + 3 * HANDLE, 1);
	pp_cache_stats(cache, &stats);
	assert_int_equal(stats.unpins, 2);
	assert_int_equal(stats.entries, 2);
	get(cache, GPU + 2 * HANDLE, 1);
	pp_cache_stats(cache, &stats);
	assert_int_equal(stats.misses, 4);
	pp_cache_destroy(cache);
}

static void unknown_way_is_refused(void **state)
{
	struct pp_dmabuf out;

	(void)state;
	assert_int_equal(pp_dmabuf_export_mapped((void *)GPU, 4096, 3, &out, NULL), -EINVAL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(exports_a_part),
		TEST(descriptor_limit_gives_emfile),
		TEST(exports_the_whole),
		TEST(range_past_end_is_refused),
		TEST(kernel_errors_are_passed_on),
		TEST(reused_region_id_closes_export),
		TEST(a_cancelled_thread_leaves_no_descriptor),
		TEST(a_child_is_refused),
		TEST(empty_export_gives_no_reason),
		TEST(export_works_without_current_context),
		TEST(failing_primary_context_fails_export),
		TEST(coherent_memory_is_exported_by_pcie),
		TEST(best_way_is_one_that_works),
		TEST(handles_are_exported_together),
		TEST(refused_handles_name_the_border),
		TEST(neighbours_are_not_exported_together),
		TEST(each_handle_of_an_entry_is_checked),
		TEST(misses_close_dmabufs_of_freed_memory),
		TEST(unknown_way_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
/* Transfers between a file and GPU memory, over a mock kernel with one file and one GPU. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/cuda/cuda_api.h"
#include "lib/transfer/file_sys.h"
#include "libpeerpin.h"
#include "test/unit/mock/mock_cuda.h"
#include "lib/sys/sys.h"
#include "test/unit/unit.h"

enum {
	SIZE = 64 << 10,
	PLAIN = 100,
	DIRECT,
	DMABUF,
	BLOCK = 512,
};

/** struct world - the file, and the answers of the kernel and the GPU driver */
static struct {
	struct pp_file_facts facts;
	int flags;
	int reopen_error;
	int direct_error;		/* result of direct I/O on a view; 0: it works */
	uint64_t direct_limit;		/* maximum bytes moved by one call; 0: no limit */
	uint64_t space;			/* maximum size of the file */
	int map_error;
	int maps, unmaps, opens, closes, direct_calls;
	unsigned char file[2 * SIZE];
} world;

static unsigned char gpu[SIZE + 1] __attribute__((aligned(4096)));
static unsigned char view[SIZE] __attribute__((aligned(4096)));
static struct pp_cache *views;
static struct pp_file *file;

/* ---- the kernel ----------------------------------------------------------------- */

int pp_file_sys_facts(int fd, struct pp_file_facts *out)
{
	(void)fd;
	*out = world.facts;
	return 0;
}

int pp_file_sys_flags(int fd)
{
	return fd < 0 ? -EBADF : world.flags;
}

int pp_file_sys_reopen(int fd, int flags)
{
	(void)fd;
	if (world.reopen_error)
		return world.reopen_error;
	world.opens++;
	return flags & O_DIRECT ? DIRECT : PLAIN;
}

int pp_file_sys_dup(int fd)
{
	(void)fd;
	world.opens++;
	return PLAIN;
}

static int is_view(const void *at)
{
	return (const unsigned char *)at >= view && (const unsigned char *)at < view + SIZE;
}

/* Direct I/O must be aligned and on a view. */
static int check_direct(const void *at, size_t length, uint64_t offset)
{
	world.direct_calls++;
	assert_true(is_view(at));
	assert_int_equal((uintptr_t)at % world.facts.memory_align, 0);
	assert_int_equal(offset % BLOCK, 0);
	assert_int_equal(length % BLOCK, 0);
	return world.direct_error;
}

static size_t cut(size_t length, uint64_t offset, uint64_t end)
{
	if (offset >= end)
		return 0;
	return length < end - offset ? length : end - offset;
}

static size_t limited(int fd, size_t n)
{
	return fd == DIRECT && world.direct_limit && n > world.direct_limit ? world.direct_limit : n;
}

ssize_t pp_file_sys_read(int fd, void *to, size_t length, uint64_t offset)
{
	int ret = fd == DIRECT ? check_direct(to, length, offset) : 0;
	size_t n = limited(fd, cut(length, offset, world.facts.size));

	if (ret)
		return ret;
	memcpy(to, world.file + offset, n);
	if (fd == DIRECT)
		memcpy(gpu + ((unsigned char *)to - view), to, n);
	return n;
}

ssize_t pp_file_sys_write(int fd, const void *from, size_t length, uint64_t offset)
{
	int ret = fd == DIRECT ? check_direct(from, length, offset) : 0;
	size_t n = limited(fd, cut(length, offset, world.space));

	if (ret)
		return ret;
	if (!n)
		return -ENOSPC;
	memcpy(world.file + offset, fd == DIRECT ? gpu + ((const unsigned char *)from - view) : from, n);
	if (offset + n > world.facts.size)
		world.facts.size = offset + n;
	return n;
}

int pp_sys_map_at(int fd, uint64_t offset, size_t length, int prot, void **out)
{
	(void)prot;
	assert_int_equal(fd, DMABUF);
	if (world.map_error)
		return world.map_error;
	assert_int_equal(offset, 0);
	assert_int_equal(length, SIZE);
	world.maps++;
	*out = view;
	return 0;
}

int pp_sys_unmap(void *at, size_t length)
{
	assert_ptr_equal(at, view);
	assert_int_equal(length, SIZE);
	world.unmaps++;
	return 0;
}

void pp_sys_close(int fd)
{
	world.closes += fd == PLAIN || fd == DIRECT;
}

/* ---- a case ---------------------------------------------------------------------- */

static int setup(void **state)
{
	size_t i;

	(void)state;
	memset(&world, 0, sizeof(world));
	world.facts = (struct pp_file_facts){ .is_regular = true, .size = SIZE, .memory_align = 4, .offset_align = BLOCK };
	world.flags = O_RDWR;
	world.space = sizeof(world.file);
	for (i = 0; i < sizeof(world.file); i++)
		world.file[i] = (unsigned char)(i * 7 + (i >> 8));
	memset(gpu, 0xee, sizeof(gpu));
	mock_cuda_reset();
	mock_cuda_fd = DMABUF;
	mock_allocations[0] = (struct mock_allocation){ .base = (uintptr_t)gpu, .size = SIZE, .id = 1 };
	return pp_cache_create_view(NULL, &views);
}

static int teardown(void **state)
{
	(void)state;
	pp_file_close(file);
	file = NULL;
	pp_cache_destroy(views);
	assert_int_equal(world.opens, world.closes);
	assert_int_equal(world.maps, world.unmaps);
	return 0;
}

static void open_it(void)
{
	assert_int_equal(pp_file_open(3, views, &file), 0);
}

static struct pp_file_result read_it(uint64_t to, size_t length, uint64_t offset, int want)
{
	struct pp_file_result r;

	assert_int_equal(pp_file_read(file, gpu + to, length, offset, &r), want);
	return r;
}

static void was(const struct pp_file_result *r, uint64_t direct, uint64_t bounced, uint32_t reason)
{
	assert_int_equal(r->direct, direct);
	assert_int_equal(r->bounced, bounced);
	assert_int_equal(r->reason, reason);
}

/* ---- cases ------------------------------------------------------------------------ */

static void whole_blocks_are_direct(void **state)
{
	struct pp_file_result r;

	(void)state;
	open_it();
	r = read_it(0, SIZE, 0, 0);
	was(&r, SIZE, 0, PP_FILE_ALL_DIRECT);
	assert_memory_equal(gpu, world.file, SIZE);
	r = read_it(4096, 4096, 512, 0);
	was(&r, 4096, 0, PP_FILE_ALL_DIRECT);
	assert_int_equal(world.maps, 1);
}

/* For many ranges, the direct bytes must be the sum of the whole blocks. No byte outside may be written. */
static void edges_are_bounced(void **state)
{
	uint64_t offset, length, i, want;
	struct pp_file_result r;

	(void)state;
	open_it();
	for (offset = 0; offset < 1030; offset += 103) {
		for (length = 1; length < 3000; length += 271) {
			memset(gpu, 0xee, sizeof(gpu));
			r = read_it(offset, length, offset, 0);
			for (want = 0, i = 0; i * BLOCK < SIZE; i++)
				want += i * BLOCK >= offset && (i + 1) * BLOCK <= offset + length ? BLOCK : 0;
			was(&r, want, length - want, want == length ? PP_FILE_ALL_DIRECT : PP_FILE_EDGES);
			assert_memory_equal(gpu + offset, world.file + offset, length);
			assert_int_equal(gpu[offset + length], 0xee);
			assert_true(!offset || gpu[offset - 1] == 0xee);
		}
	}
}

static void misaligned_read_is_bounced(void **state)
{
	struct pp_file_result r;

	(void)state;
	open_it();
	r = read_it(1, 8192, 0, 0);
	was(&r, 0, 8192, PP_FILE_UNALIGNED);
	r = read_it(4, 8192, 0, 0);
	was(&r, 8192, 0, PP_FILE_ALL_DIRECT);
	assert_memory_equal(gpu + 4, world.file, 8192);
}

static void short_file_is_read_to_end(void **state)
{
	struct pp_file_result r;

	(void)state;
	world.facts.size = 1000;
	open_it();
	r = read_it(0, SIZE, 0, 0);
	was(&r, 512, 488, PP_FILE_EDGES);
	assert_memory_equal(gpu, world.file, 1000);
	assert_int_equal(gpu[1000], 0xee);
	r = read_it(0, SIZE, 1000, 0);
	was(&r, 0, 0, PP_FILE_ALL_DIRECT);
}

static void short_transfers_are_continued(void **state)
{
	struct pp_file_result r;

	(void)state;
	world.direct_limit = 2048;
	open_it();
	r = read_it(0, SIZE, 0, 0);
	was(&r, SIZE, 0, PP_FILE_ALL_DIRECT);
	assert_int_equal(world.direct_calls, SIZE / 2048);
	assert_memory_equal(gpu, world.file, SIZE);
}

static void refused(int error, uint32_t reason, int calls)
{
	struct pp_file_result r;

	world.direct_error = error;
	open_it();
	r = read_it(0, 8192, 0, 0);
	was(&r, 0, 8192, reason);
	assert_int_equal(r.error, error);
	assert_memory_equal(gpu, world.file, 8192);
	r = read_it(0, 8192, 0, 0);
	was(&r, 0, 8192, reason);
	assert_int_equal(world.direct_calls, calls);
}

static void missing_pages_are_bounced(void **state)
{
	(void)state;
	refused(-EFAULT, PP_FILE_NO_PAGES, 2);
}

static void refused_p2p_is_tried_once(void **state)
{
	(void)state;
	refused(-EREMOTEIO, PP_FILE_NO_WAY, 1);
}

static void einval_means_p2p_is_refused(void **state)
{
	(void)state;
	refused(-EINVAL, PP_FILE_NO_WAY, 1);
}

static void disk_error_is_not_bounced(void **state)
{
	struct pp_file_result r;

	(void)state;
	world.direct_error = -EIO;
	open_it();
	r = read_it(0, 8192, 0, -EIO);
	was(&r, 0, 0, PP_FILE_ALL_DIRECT);
}

static int touch_view(const void *at)
{
	const struct pp_cache_entry *e;
	int ret = pp_cache_get(views, at, 1, &e, NULL);

	if (!ret)
		pp_cache_put(views, e);
	return ret;
}

/* CUDA has no error of its own for a lack of descriptors: it returns PP_CU_OPERATING_SYSTEM. */
static int touch_without_descriptors(const void *at)
{
	struct rlimit before, none;
	int ret;

	mock_cuda_export_error = PP_CU_OPERATING_SYSTEM;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	ret = touch_view(at);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	return ret;
}

static void descriptor_limit_evicts_no_view(void **state)
{
	static const char other[SIZE] __attribute__((aligned(4096)));
	struct pp_cache_stats stats;

	(void)state;
	mock_allocations[1] = (struct mock_allocation){ .base = (uintptr_t)other, .size = SIZE, .id = 2 };
	assert_int_equal(touch_view(gpu), 0);
	assert_int_equal(touch_without_descriptors(other), -EMFILE);
	assert_int_equal(touch_view(gpu), 0);
	pp_cache_stats(views, &stats);
	assert_true(!stats.evictions && stats.hits == 1);
}

static void unmappable_dmabuf_is_bounced(void **state)
{
	struct pp_file_result r;

	(void)state;
	world.map_error = -524;
	open_it();
	r = read_it(0, 8192, 0, 0);
	was(&r, 0, 8192, PP_FILE_NO_VIEW);
	assert_memory_equal(gpu, world.file, 8192);
}

static void failed_export_is_bounced(void **state)
{
	struct pp_file_result r;

	(void)state;
	mock_cuda_export_error = PP_CU_NOT_SUPPORTED;
	open_it();
	r = read_it(0, 8192, 0, 0);
	was(&r, 0, 8192, PP_FILE_NO_EXPORT);
}

static void read_works_without_current_context(void **state)
{
	struct pp_file_result r;

	(void)state;
	mock_cuda_context = NULL;
	open_it();
	r = read_it(1, 8192, 0, 0);
	was(&r, 0, 8192, PP_FILE_UNALIGNED);
	assert_memory_equal(gpu + 1, world.file, 8192);
	assert_null(mock_cuda_context);
	mock_allocations[0].pooled = true;
	read_it(1, 8192, 0, 0);
	assert_int_equal(mock_cuda_primaries, 0);
	mock_cuda_primary_error = PP_CU_OUT_OF_MEMORY;
	r = read_it(1, 8192, 0, -ENODEV);
	was(&r, 0, 0, PP_FILE_UNALIGNED);
}

static void file_without_direct_io_bounces(void **state)
{
	struct pp_file_result r;

	(void)state;
	world.facts.memory_align = 0;
	open_it();
	r = read_it(0, 8192, 0, 0);
	was(&r, 0, 8192, PP_FILE_NO_DIRECT_IO);
	assert_int_equal(world.opens, 1);
}

static void failed_direct_open_bounces(void **state)
{
	struct pp_file_result r;

	(void)state;
	world.reopen_error = -EINVAL;
	open_it();
	r = read_it(0, 8192, 0, 0);
	was(&r, 0, 8192, PP_FILE_NO_DIRECT_IO);
}

static void write_splits_direct_and_bounced(void **state)
{
	struct pp_file_result r;
	size_t i;

	(void)state;
	open_it();
	for (i = 0; i < SIZE; i++)
		gpu[i] = (unsigned char)(i * 31);
	assert_int_equal(pp_file_write(file, gpu + 100, 5000, 100, &r), 0);
	was(&r, 4096, 5000 - 4096, PP_FILE_EDGES);
	assert_memory_equal(world.file + 100, gpu + 100, 5000);
	assert_int_equal(world.file[99], (unsigned char)(99 * 7));
	assert_int_equal(world.file[5100], (unsigned char)(5100 * 7 + (5100 >> 8)));
}

static void full_disk(size_t space, uint64_t direct, uint64_t bounced)
{
	struct pp_file_result r;

	world.space = space;
	open_it();
	assert_int_equal(pp_file_write(file, gpu, SIZE, 0, &r), -ENOSPC);
	assert_int_equal(r.direct, direct);
	assert_int_equal(r.bounced, bounced);
	assert_memory_equal(world.file, gpu, space);
}

static void full_disk_reports_written_bytes(void **state)
{
	(void)state;
	full_disk(8192, 8192, 0);
}

static void disk_full_inside_block_is_reported(void **state)
{
	(void)state;
	full_disk(8000, 8000, 0);
}

static void bad_ranges_are_refused(void **state)
{
	(void)state;
	open_it();
	read_it(0, SIZE + 1, 0, -EINVAL);
	read_it(0, 1, UINT64_MAX, -EINVAL);
	read_it(0, 2, INT64_MAX - 1, -EINVAL);
	assert_int_equal(world.direct_calls, 0);
}

static void host_memory_needs_no_view(void **state)
{
	struct pp_file_result r;

	(void)state;
	mock_allocations[0].id = 0;
	open_it();
	assert_int_equal(pp_file_read(file, view, 4099, 512, &r), 0);
	was(&r, 4096, 3, PP_FILE_EDGES);
	assert_memory_equal(view, world.file + 512, 4099);
	assert_int_equal(pp_file_write(file, view, 4099, 0, &r), 0);
	was(&r, 4096, 3, PP_FILE_EDGES);
	assert_memory_equal(view, world.file, 4099);
	assert_int_equal(world.maps, 0);
}

static void bad_files_are_refused(void **state)
{
	(void)state;
	assert_int_equal(pp_file_open(-1, views, &file), -EBADF);
	world.flags = O_RDWR | O_APPEND;
	assert_int_equal(pp_file_open(3, views, &file), -EINVAL);
	world.flags = O_RDWR;
	world.facts.is_regular = false;
	assert_int_equal(pp_file_open(3, views, &file), -EINVAL);
}

static void removed_disk_fails_with_enodev(void **state)
{
	(void)state;
	world.facts.is_regular = false;
	world.facts.is_block = true;
	open_it();
	world.facts.size = 0;
	read_it(0, 4096, 0, -ENODEV);
}

static void cache_of_other_kind_is_refused(void **state)
{
	struct pp_cache *other;

	(void)state;
	assert_int_equal(pp_cache_create_dmabuf(NULL, &other), 0);
	assert_int_equal(pp_file_open(3, other, &file), -EINVAL);
	pp_cache_destroy(other);
}

static void a_child_is_refused(void **state)
{
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(pp_file_open(3, views, &file) != -EACCES);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void freed_memory_is_mapped_again(void **state)
{
	(void)state;
	open_it();
	read_it(0, 4096, 0, 0);
	mock_allocations[0].id = 2;
	read_it(0, 4096, 0, 0);
	assert_int_equal(world.maps, 2);
}

static void each_reason_has_a_sentence(void **state)
{
	uint32_t i, j;

	(void)state;
	for (i = 0; i <= PP_FILE_NO_WAY; i++)
		for (j = 0; j < i; j++)
			assert_string_not_equal(pp_file_strreason(i), pp_file_strreason(j));
	assert_non_null(strstr(pp_file_strreason(PP_FILE_NO_WAY + 1), "unknown"));
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(whole_blocks_are_direct),
		CASE(edges_are_bounced),
		CASE(misaligned_read_is_bounced),
		CASE(short_file_is_read_to_end),
		CASE(short_transfers_are_continued),
		CASE(missing_pages_are_bounced),
		CASE(refused_p2p_is_tried_once),
		CASE(einval_means_p2p_is_refused),
		CASE(disk_error_is_not_bounced),
		CASE(descriptor_limit_evicts_no_view),
		CASE(unmappable_dmabuf_is_bounced),
		CASE(failed_export_is_bounced),
		CASE(read_works_without_current_context),
		CASE(file_without_direct_io_bounces),
		CASE(failed_direct_open_bounces),
		CASE(write_splits_direct_and_bounced),
		CASE(full_disk_reports_written_bytes),
		CASE(disk_full_inside_block_is_reported),
		CASE(bad_ranges_are_refused),
		CASE(host_memory_needs_no_view),
		CASE(bad_files_are_refused),
		CASE(removed_disk_fails_with_enodev),
		CASE(cache_of_other_kind_is_refused),
		CASE(a_child_is_refused),
		CASE(freed_memory_is_mapped_again),
		CASE(each_reason_has_a_sentence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

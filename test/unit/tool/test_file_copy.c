// SPDX-License-Identifier: MIT
/* peerpin copy between a file and a mock GPU in host memory. fsync() may report lost writes. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tool/copy/file_copy.h"
#include "tool/copy/gpu.h"
#include "tool/tool.h"
#include "test/unit/unit.h"

enum {
	SIZE = 8192,
	ZONE = 64 << 10,
	NOWHERE = -1,
};

/* Offset in GPU memory of the byte that the GPU returns wrongly; NOWHERE: no wrong byte. */
static long lie_at;
static uint64_t memory;
static int sync_error, syncs;
static char path[] = "/tmp/peerpin-copy-XXXXXX";

/* ---- mocks ----------------------------------------------------------- */

int fsync(int fd)
{
	(void)fd;
	syncs++;
	errno = sync_error;
	return sync_error ? -1 : 0;
}

int gpu_open(void)
{
	return 0;
}

int gpu_room(struct gpu_room *out)
{
	*out = (struct gpu_room){ .free = 1 << 30, .total = 1 << 30 };
	return 0;
}

int gpu_alloc(size_t size, uint64_t *out)
{
	memory = (uintptr_t)aligned_alloc(4096, size);
	*out = memory;
	return 0;
}

int gpu_free(uint64_t addr)
{
	free((void *)(uintptr_t)addr);
	return 0;
}

int gpu_write(uint64_t to, const void *from, size_t length)
{
	memcpy((void *)(uintptr_t)to, from, length);
	return 0;
}

int gpu_read(void *to, uint64_t from, size_t length)
{
	uint64_t lie = memory + (uint64_t)lie_at;

	memcpy(to, (void *)(uintptr_t)from, length);
	if (lie_at != NOWHERE && lie >= from && lie < from + length)
		((unsigned char *)to)[lie - from] ^= 1;
	return 0;
}

const char *gpu_error(int result)
{
	(void)result;
	return "none";
}

/* ---- copies ------------------------------------------------------------------------ */

static int setup(void **state)
{
	int fd;

	(void)state;
	memset(path + strlen(path) - 6, 'X', 6);
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, SIZE), 0);
	close(fd);
	sync_error = syncs = 0;
	lie_at = NOWHERE;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return unlink(path);
}

static int copy(enum side from, enum side to)
{
	return file_copy(&(struct copy_args){ .from = from, .to = to, .path = path, .overwrite = to == SIDE_FILE,
					      .size = SIZE, .repeat = 2, .verify = true });
}

static void file_is_synced_before_report(void **state)
{
	(void)state;
	assert_int_equal(copy(SIDE_GPU, SIDE_FILE), EXIT_OK);
	assert_int_equal(syncs, 1);
	assert_int_equal(copy(SIDE_FILE, SIDE_GPU), EXIT_OK);
	assert_int_equal(syncs, 1);
}

static void failed_sync_fails_copy(void **state)
{
	static const int errors[] = { EIO, ENOSPC, EDQUOT };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
		sync_error = errors[i];
		assert_int_equal(copy(SIDE_GPU, SIDE_FILE), EXIT_FAILED);
	}
}

static void unsupported_sync_is_ignored(void **state)
{
	(void)state;
	sync_error = EINVAL;
	assert_int_equal(copy(SIDE_GPU, SIDE_FILE), EXIT_OK);
	sync_error = EROFS;
	assert_int_equal(copy(SIDE_GPU, SIDE_FILE), EXIT_OK);
}

/* The wrong byte is in the memory, or in the red zones before and after the memory. */
static void one_wrong_byte_is_found(void **state)
{
	static const long places[] = { 0, ZONE - 1, ZONE, ZONE + 5, ZONE + SIZE - 1, ZONE + SIZE };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(places) / sizeof(*places); i++) {
		lie_at = places[i];
		assert_int_equal(copy(SIDE_GPU, SIDE_FILE), EXIT_FAILED);
		assert_int_equal(copy(SIDE_FILE, SIDE_GPU), EXIT_FAILED);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(file_is_synced_before_report, setup, teardown),
		cmocka_unit_test_setup_teardown(failed_sync_fails_copy, setup, teardown),
		cmocka_unit_test_setup_teardown(one_wrong_byte_is_found, setup, teardown),
		cmocka_unit_test_setup_teardown(unsupported_sync_is_ignored, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

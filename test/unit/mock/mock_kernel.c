// SPDX-License-Identifier: MIT
#include <linux/types.h>
#include <peerpin.h>
#include <pthread.h>
#include <string.h>
#include "mock_kernel.h"
#include "lib/sys/sys.h"
#include "test/unit/unit.h"

enum {
	MAX_EXPECTED = 32,
};

struct expected {
	unsigned long cmd;
	int (*answer)(void *arg);
};

uint32_t mock_epochs[PEERPIN_MAX_REGIONS + PEERPIN_MAX_WATCHES];
size_t mock_epoch_bytes;
int mock_open_error;
int mock_map_error;
const char *mock_opened;
int mock_closed;
int mock_epochs_unmapped;
struct mock_view mock_view;
char mock_view_at[1];

static struct expected queue[MAX_EXPECTED];
static size_t head, tail;

void mock_reset(void)
{
	memset(mock_epochs, 0, sizeof(mock_epochs));
	mock_epoch_bytes = sizeof(mock_epochs);
	mock_open_error = 0;
	mock_map_error = 0;
	mock_opened = NULL;
	mock_closed = 0;
	mock_epochs_unmapped = 0;
	mock_view = (struct mock_view){ .calls = 0 };
	head = 0;
	tail = 0;
}

void mock_expect(unsigned long cmd, int (*answer)(void *arg))
{
	if (head == tail)
		head = tail = 0;
	assert_true(tail < MAX_EXPECTED);
	queue[tail++] = (struct expected){ cmd, answer };
}

void mock_done(void)
{
	assert_int_equal(head, tail);
}

int pp_sys_open(const char *path)
{
	mock_opened = path;
	if (mock_open_error)
		return mock_open_error;
	return strcmp(path, "/dev/peerpin") ? MOCK_PEER_FD : MOCK_FD;
}

void pp_sys_close(int fd)
{
	assert_in_range(fd, MOCK_FD, MOCK_DMABUF_FD);
	pthread_testcancel();	/* close() is a cancellation point, too */
	mock_closed++;
}

int pp_sys_ioctl(int fd, unsigned long cmd, void *arg)
{
	struct expected e;

	assert_true(fd == MOCK_FD || fd == MOCK_PEER_FD);
	if (head == tail)
		fail_msg("command %#lx was not expected", cmd);
	e = queue[head++];
	assert_int_equal(cmd, e.cmd);
	return e.answer(arg);
}

int pp_sys_map(int fd, size_t length, void **out)
{
	assert_int_equal(fd, MOCK_FD);
	if (length > mock_epoch_bytes)
		return -EINVAL;
	assert_int_equal(length, mock_epoch_bytes);
	*out = mock_epochs;
	return mock_map_error;
}

int pp_sys_map_at(int fd, uint64_t offset, size_t length, int prot, void **out)
{
	assert_int_equal(fd, MOCK_FD);
	mock_view.calls++;
	mock_view.offset = offset;
	mock_view.length = length;
	mock_view.prot = prot;
	*out = mock_view_at;
	return mock_view.answer ? mock_view.answer() : 0;
}

int pp_sys_unmap(void *at, size_t length)
{
	if (at == mock_view_at) {
		mock_view.unmapped += length;
		return 0;
	}
	assert_ptr_equal(at, mock_epochs);
	assert_int_equal(length, mock_epoch_bytes);
	mock_epochs_unmapped++;
	return 0;
}

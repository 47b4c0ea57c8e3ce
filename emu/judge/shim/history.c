// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "gpu.h"
#include "history.h"
#include "node.h"
#include "process.h"

enum {
	RECORDS_MAX = 256,
	ARGUMENT_MAX = 1024,
	TOUCH_STEP = 64 << 10,
	TOUCH_MS = 500,
};

/**
 * struct record - a call and a copy of its argument
 * @size: bytes of @argument, copied from @call.at; 0: @call.at could not be read
 * @pinned: the call may have pinned memory, so it is not repeated: the other process would legally pin its own memory
 */
struct record {
	struct call call;
	size_t size;
	bool pinned;
	unsigned char argument[ARGUMENT_MAX];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct record records[RECORDS_MAX];
static size_t nr_records;

/* Copies the readable part of the argument. Returns its size, or 0 if the argument is no pointer. */
static size_t copy_argument(const struct call *c, unsigned char *out)
{
	struct iovec to = { out, ARGUMENT_MAX }, from = { c->at, ARGUMENT_MAX };
	ssize_t got;

	if (c->kind == CALL_IOCTL && _IOC_SIZE(c->request) && _IOC_SIZE(c->request) < ARGUMENT_MAX)
		from.iov_len = _IOC_SIZE(c->request);
	if ((c->kind == CALL_WRITE || c->kind == CALL_PWRITE) && c->length < ARGUMENT_MAX)
		from.iov_len = c->length;
	got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
	if (got < 0) {	/* the next page may be unmapped */
		from.iov_len = 4096 - (uintptr_t)c->at % 4096;
		got = from.iov_len < ARGUMENT_MAX ? process_vm_readv(getpid(), &to, 1, &from, 1, 0) : -1;
	}
	return got < 0 ? 0 : (size_t)got;
}

static struct record *add(const struct call *c)
{
	struct record *r = NULL;

	pthread_mutex_lock(&lock);
	if (nr_records < RECORDS_MAX)
		r = &records[nr_records++];
	pthread_mutex_unlock(&lock);
	if (r) {
		r->call = *c;
		r->pinned = true;
		r->size = c->kind == CALL_MMAP ? 0 : copy_argument(c, r->argument);
	}
	return r;
}

static bool is_worth_it(const struct call *c)
{
	return c->kind != CALL_CLOSE && c->kind != CALL_MUNMAP;
}

long history_do(const struct call *c)
{
	struct record *r = is_worth_it(c) ? add(c) : NULL;
	uint32_t before, after;
	long ret;
	int error;

	if (!r)
		return call_do(c);
	error = gpu_pins(&before);
	ret = call_do(c);
	if (error)
		return ret;
	error = errno;
	r->pinned = gpu_pins(&after) || before != after;
	errno = error;
	return ret;
}

/* The new file gets the number of the test's file: arguments of calls may contain that number. */
static void open_own(int fd)
{
	char path[NODE_PATH_MAX];
	long own;

	node_kind(fd, path);
	own = syscall(SYS_openat, AT_FDCWD, path, fcntl(fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK), 0);
	if (own < 0) {
		syscall(SYS_close, fd);
		return;
	}
	syscall(SYS_dup2, own, fd);
	syscall(SYS_close, own);
}

/* Maps and writes in a separate process, because a write may fault. */
static void map_and_touch(const struct call *c)
{
	volatile unsigned char *at;
	pid_t pid = process_fork();
	size_t offset;
	long ret;

	if (pid) {
		process_wait(pid, TOUCH_MS);
		return;
	}
	ret = syscall(SYS_mmap, NULL, c->length, c->prot, c->flags & ~MAP_FIXED, c->fd, c->offset);
	if (ret == -1 || !(c->prot & PROT_WRITE))
		_exit(0);
	at = (volatile unsigned char *)ret;
	for (offset = 0; offset < c->length; offset += TOUCH_STEP)
		at[offset] = (unsigned char)~at[offset];
	_exit(0);
}

static void repeat(const struct record *r)
{
	static unsigned char argument[1 << 20];
	struct call c = r->call;

	if (c.kind == CALL_MMAP) {
		map_and_touch(&c);
		return;
	}
	if (r->size) {
		memcpy(argument, r->argument, r->size);
		c.at = argument;
		c.length = c.length < sizeof(argument) ? c.length : sizeof(argument);
	}
	call_do(&c);
}

void history_repeat(void)
{
	size_t i;

	node_each(NODE_DRIVER, open_own);
	for (i = 0; i < nr_records; i++)
		if (!records[i].pinned)
			repeat(&records[i]);
}

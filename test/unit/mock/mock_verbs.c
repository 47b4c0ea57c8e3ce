// SPDX-License-Identifier: MIT
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "mock_kernel.h"
#include "mock_verbs.h"

struct mock_verbs mock_verbs;
struct ibv_pd mock_pd;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int book(const struct mock_region *region, int error)
{
	pthread_mutex_lock(&lock);
	mock_verbs.calls++;
	mock_verbs.last = *region;
	if (!error && mock_verbs.room && mock_verbs.live >= mock_verbs.room)
		error = ENOMEM;
	if (!error)
		mock_verbs.live++;
	pthread_mutex_unlock(&lock);
	return error;
}

static struct ibv_mr *reg(struct ibv_pd *pd, const struct mock_region *region, int error)
{
	struct ibv_mr *mr;

	error = book(region, error);
	if (mock_verbs.on_reg)
		mock_verbs.on_reg();
	if (error) {
		errno = error;
		return NULL;
	}
	mr = calloc(1, sizeof(*mr));
	mr->pd = pd;
	mr->addr = (void *)(uintptr_t)region->addr;
	mr->length = region->length;
	return mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	struct mock_region region = { .addr = iova, .length = length, .access = (int)access, .fd = -1 };

	return reg(pd, &region, iova == (uintptr_t)addr ? mock_verbs.pointer_error : EINVAL);
}

#undef ibv_reg_mr
struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return ibv_reg_mr_iova2(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd, int access)
{
	struct mock_region region = {
		.addr = iova, .length = length, .access = access, .fd = fd, .offset = offset };

	/* Like the kernel, refuse different page offsets. */
	return reg(pd, &region, offset % 4096 == iova % 4096 ? mock_verbs.dmabuf_error : EINVAL);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	if (mock_verbs.on_dereg)
		mock_verbs.on_dereg();
	pthread_mutex_lock(&lock);
	mock_verbs.live--;
	pthread_mutex_unlock(&lock);
	free(mr);
	return 0;
}

/* Replaces close() of libc, and counts closed mock dma-bufs. */
int close(int fd)
{
	if (fd != MOCK_DMABUF_FD)
		return (int)syscall(SYS_close, fd);
	mock_verbs.closed++;
	return 0;
}

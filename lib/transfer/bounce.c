// SPDX-License-Identifier: MIT
/* Moves bytes between a file and memory through the page cache; for GPU memory also through a buffer. */
#include <errno.h>
#include <stdlib.h>
#include "lib/cuda/context.h"
#include "lib/cuda/cuda_api.h"
#include "file.h"
#include "file_sys.h"

enum {
	BUFFER = 1 << 20,
};

static int error_of(int cuda)
{
	switch (cuda) {
	case PP_CU_SUCCESS:
		return 0;
	case PP_CU_OUT_OF_MEMORY:
		return -ENOMEM;
	case PP_CU_INVALID_VALUE:
		return -ESTALE;
	case PP_CU_NO_CONTEXT:
		return -ENODEV;
	default:
		return -EIO;
	}
}

static int read_one(struct pp_move *m, void *buffer, size_t length)
{
	ssize_t n = pp_file_sys_read(m->file->plain, buffer, length, m->offset);
	int ret;

	if (n < 0)
		return (int)n;
	m->ended = !n;
	ret = n ? error_of(pp_cuda()->write(m->addr, buffer, n)) : 0;
	if (!ret)
		pp_move_advance(m, n, &m->result.bounced);
	return ret;
}

static int write_one(struct pp_move *m, void *buffer, size_t length)
{
	int ret = error_of(pp_cuda()->read(buffer, m->addr, length));
	ssize_t n;

	if (ret)
		return ret;
	n = pp_file_sys_write(m->file->plain, buffer, length, m->offset);
	if (n <= 0)
		return n ? (int)n : -ENOSPC;
	pp_move_advance(m, n, &m->result.bounced);
	return 0;
}

static int read_host(struct pp_move *m, size_t length)
{
	ssize_t n = pp_file_sys_read(m->file->plain, (void *)(uintptr_t)m->addr, length, m->offset);

	if (n < 0)
		return (int)n;
	m->ended = !n;
	pp_move_advance(m, n, &m->result.bounced);
	return 0;
}

static int write_host(struct pp_move *m, size_t length)
{
	ssize_t n = pp_file_sys_write(m->file->plain, (void *)(uintptr_t)m->addr, length, m->offset);

	if (n <= 0)
		return n ? (int)n : -ENOSPC;
	pp_move_advance(m, n, &m->result.bounced);
	return 0;
}

static int one(struct pp_move *m, void *buffer, size_t length)
{
	if (m->host)
		return m->write ? write_host(m, length) : read_host(m, length);
	return m->write ? write_one(m, buffer, length) : read_one(m, buffer, length);
}

static int each(struct pp_move *m, uint64_t length, char *buffer)
{
	uint64_t end = m->offset + length;
	int ret = 0;

	while (!ret && !m->ended && m->offset < end) {
		size_t n = end - m->offset < BUFFER ? end - m->offset : BUFFER;

		ret = one(m, buffer, n);
	}
	return ret;
}

/*
 * When CUDA's copy to the GPU returns, the bytes may still be in a staging buffer.
 * SYNC_MEMOPS prevents this. If it cannot be set, wait for the GPU at the end.
 */
static int each_settled(struct pp_move *m, uint64_t length, char *buffer)
{
	int waits = m->write ? 0 : pp_sync_memops((void *)(uintptr_t)m->addr);
	int ret = each(m, length, buffer);

	if (!ret && waits && pp_cuda()->settle)
		ret = error_of(pp_cuda()->settle());
	return ret;
}

int pp_move_bounce(struct pp_move *m, uint64_t length)
{
	struct pp_context context;
	char *buffer;
	int ret;

	if (!length || m->ended)
		return 0;
	if (m->host)
		return each(m, length, NULL);
	if (!pp_cuda()->read || !pp_cuda()->write)
		return -EOPNOTSUPP;
	buffer = malloc(length < BUFFER ? length : BUFFER);
	if (!buffer)
		return -ENOMEM;
	pp_context_enter(&context, m->addr);
	ret = each_settled(m, length, buffer);
	pp_context_leave(&context);
	free(buffer);
	return ret;
}

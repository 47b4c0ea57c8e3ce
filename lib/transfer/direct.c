// SPDX-License-Identifier: MIT
/* Moves bytes between a file and GPU memory by the DMA of the disk: direct I/O on a view. */
#include <errno.h>
#include <linux/types.h>
#include <peerpin.h>
#include "file.h"
#include "file_sys.h"

/* Bytes per system call: a multiple of any block size, below the limit of 2 GiB of read() and write() */
enum { MOST = 1 << 30 };

static uint64_t refusal(int device, uint32_t reason)
{
	return (uint64_t)(device + 1) << 32 | reason;
}

/* The last refusal is remembered, because each retry would make the disk's driver write to the kernel log. */
static uint32_t refused_before(const struct pp_move *m)
{
	uint64_t last = atomic_load_explicit(&m->file->refused, memory_order_relaxed);

	return last == refusal(m->device, (uint32_t)last) ? (uint32_t)last : 0;
}

/* The request was aligned, so these errors refuse its pages. PP_FILE_ALL_DIRECT: no refusal */
static uint32_t reason_of(int error)
{
	switch (error) {
	case -EFAULT:
		return PP_FILE_NO_PAGES;
	case -EINVAL:
	case -EREMOTEIO:
		return PP_FILE_NO_WAY;
	default:
		return PP_FILE_ALL_DIRECT;
	}
}

static int refuse(struct pp_move *m, int error)
{
	uint32_t reason = reason_of(error);

	if (!reason)
		return error;
	if (reason == PP_FILE_NO_WAY)
		atomic_store_explicit(&m->file->refused, refusal(m->device, reason), memory_order_relaxed);
	pp_move_blame(m, reason, error);
	return 0;
}

/* @shift: what to add to an address in the memory to get its CPU address */
static ssize_t transfer(struct pp_move *m, uint64_t shift, size_t length)
{
	void *at = (void *)(uintptr_t)(m->addr + shift);

	return m->write ? pp_file_sys_write(m->file->direct, at, length, m->offset) :
			  pp_file_sys_read(m->file->direct, at, length, m->offset);
}

/*
 * If a result is 0 or not aligned, the end of the file is reached or the disk is full.
 * Then the remaining bytes go through the plain descriptor, whose result tells which.
 */
static int each(struct pp_move *m, uint64_t shift, uint64_t length)
{
	uint64_t end = m->offset + length;
	ssize_t n;

	while (m->offset < end) {
		n = transfer(m, shift, end - m->offset < MOST ? end - m->offset : MOST);
		if (n < 0)
			return refuse(m, (int)n);
		pp_move_advance(m, n, &m->result.direct);
		if (!n || n % m->file->offset_align)
			break;
	}
	return 0;
}

static int no_view(struct pp_move *m, int error)
{
	switch (error) {
	case -ENODEV:
		pp_move_blame(m, PP_FILE_NO_VIEW, error);
		return 0;
	case -EACCES:
	case -ESTALE:
		return error;
	default:
		pp_move_blame(m, PP_FILE_NO_EXPORT, error);
		return 0;
	}
}

static int on_view(struct pp_move *m, uint64_t length)
{
	const struct pp_cache_entry *entry;
	const struct pp_view *view;
	int ret = pp_cache_get(m->file->views, (void *)(uintptr_t)m->addr, length, &entry, NULL);

	if (ret)
		return no_view(m, ret);
	view = entry->reg;
	ret = each(m, (uintptr_t)view->at - view->addr, length);
	pp_cache_put(m->file->views, entry);
	return ret;
}

int pp_move_direct(struct pp_move *m, uint64_t length)
{
	uint32_t before = refused_before(m);

	if (m->host)
		return each(m, 0, length);
	if (!m->file->views)
		before = PP_FILE_NO_CACHE;
	if (!before)
		return on_view(m, length);
	pp_move_blame(m, before, 0);
	return 0;
}

// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "lib/sys/cancel.h"
#include "lib/cuda/allocation.h"
#include "lib/cuda/cuda_api.h"
#include "file.h"
#include "file_sys.h"
#include "lib/cuda/process.h"
#include "lib/cuda/query.h"
#include "lib/sys/debug.h"
#include "lib/sys/sys.h"
#include "view.h"

/* ---- open files -------------------------------------------------------------- */

/* Flags of the caller's descriptor that both new descriptors take over */
static int kept(int flags)
{
	return flags & (O_ACCMODE | O_SYNC | O_DSYNC | O_NOATIME | O_LARGEFILE);
}

static int open_plain(struct pp_file *f, int fd, int flags)
{
	f->plain = flags & O_DIRECT ? pp_file_sys_reopen(fd, kept(flags)) : pp_file_sys_dup(fd);
	return f->plain < 0 ? f->plain : 0;
}

/*
 * A file that reports no alignment for direct I/O may accept O_DIRECT and still copy
 * through the page cache, as tmpfs does. So it counts as having no direct I/O.
 */
static void open_direct(struct pp_file *f, int fd, int flags, const struct pp_file_facts *facts)
{
	f->direct = -1;
	f->no_direct = PP_FILE_NO_DIRECT_IO;
	if (!facts->memory_align || !facts->offset_align)
		return;
	f->memory_align = facts->memory_align;
	f->offset_align = facts->offset_align;
	f->direct = pp_file_sys_reopen(fd, kept(flags) | O_DIRECT);
}

static int examine(int fd, int *flags, struct pp_file_facts *facts)
{
	int ret = pp_file_sys_facts(fd, facts);

	if (ret)
		return ret;
	*flags = pp_file_sys_flags(fd);
	if (*flags < 0)
		return *flags;
	return (facts->is_regular || facts->is_block) && !(*flags & O_APPEND) ? 0 : -EINVAL;
}

static int open_both(struct pp_file *f, int fd)
{
	struct pp_file_facts facts;
	int flags, ret = examine(fd, &flags, &facts);

	if (!ret)
		ret = open_plain(f, fd, flags);
	if (!ret)
		open_direct(f, fd, flags, &facts);
	return ret;
}

PP_PUBLIC int pp_file_open(int fd, struct pp_cache *views, struct pp_file **out)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	struct pp_file *f;
	int ret;

	if (!out)
		return -EINVAL;
	ret = views ? pp_view_check(views) : 0;
	if (ret)
		return ret;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->views = views;
	f->mark = pp_process_mark();
	ret = open_both(f, fd);
	if (ret)
		free(f);
	else
		*out = f;
	return ret;
}

PP_PUBLIC void pp_file_close(struct pp_file *f)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;

	if (!f)
		return;
	if (f->direct >= 0)
		pp_sys_close(f->direct);
	pp_sys_close(f->plain);
	free(f);
}

/* ---- moves --------------------------------------------------------------------- */

/* Direct I/O reads whole blocks: a read of the file's last, partial block could overwrite memory behind the range. */
static uint64_t end_of_direct(const struct pp_move *m, uint64_t size)
{
	uint64_t end = m->offset + m->left;

	return m->write || end < size ? end : size;
}

/* @head: number of bytes to bounce first; @middle: number of bytes for direct I/O after them, maybe 0 */
static void plan(struct pp_move *m, uint64_t size, uint64_t *head, uint64_t *middle)
{
	const struct pp_file *f = m->file;
	uint64_t mask = f->offset_align - 1, begin = (m->offset + mask) & ~mask;
	uint64_t end = end_of_direct(m, size);

	*head = begin - m->offset;
	*middle = 0;
	if ((m->addr + *head) % f->memory_align)
		pp_move_blame(m, PP_FILE_UNALIGNED, 0);
	else if (begin < (end & ~mask))
		*middle = (end & ~mask) - begin;
}

static int run_direct(struct pp_move *m, uint64_t size)
{
	uint64_t head, middle;
	int ret;

	plan(m, size, &head, &middle);
	if (!middle)
		return 0;
	ret = pp_move_bounce(m, head);
	return ret || m->ended ? ret : pp_move_direct(m, middle);
}

/* A removed disk reports size 0. Return -ENODEV for it: 0 bytes would look like the end of the file. */
static int find_size(const struct pp_move *m, uint64_t *size)
{
	struct pp_file_facts facts;
	int ret = pp_file_sys_facts(m->file->plain, &facts);

	if (ret)
		return ret;
	*size = facts.size;
	return facts.is_block && !facts.size ? -ENODEV : 0;
}

static int run(struct pp_move *m)
{
	uint64_t size;
	int ret = find_size(m, &size);

	if (ret)
		return ret;
	if (m->file->direct < 0)
		pp_move_blame(m, m->file->no_direct, 0);
	else
		ret = run_direct(m, size);
	if (!ret)
		ret = pp_move_bounce(m, m->left);
	if (m->result.bounced)
		pp_move_blame(m, PP_FILE_EDGES, 0);
	return ret;
}

/*
 * CUDA copies within one allocation only, so a longer range is refused before any
 * byte is copied. For host memory the kernel checks the range.
 */
static int check(struct pp_move *m)
{
	struct pp_mem mem;

	if (m->file->mark != pp_process_mark())
		return -EACCES;
	/* the caller may have set these flags since pp_file_open() */
	if (pp_file_sys_flags(m->file->plain) & (O_APPEND | O_DIRECT))
		return -EINVAL;
	if (m->offset > INT64_MAX || m->left > INT64_MAX - m->offset)
		return -EINVAL;
	pp_query_provider((const void *)(uintptr_t)m->addr, &mem);
	m->host = mem.kind == PP_MEM_HOST;
	m->device = mem.device;
	return m->host || pp_allocation_holds(&mem, m->addr, m->left) ? 0 : -EINVAL;
}

static void say(const struct pp_move *m, int error)
{
	const struct pp_file_result *r = &m->result;

	if (!pp_debugs())
		return;
	pp_debug("file %s: %" PRIu64 " bytes by the disk's DMA, %" PRIu64 " through host memory%s%s%s%s",
		 m->write ? "written" : "read", r->direct, r->bounced, r->reason ? ": " : "",
		 r->reason ? pp_file_strreason(r->reason) : "", error ? "; failed: " : "", error ? strerror(-error) : "");
}

static int move(struct pp_move *m, struct pp_file_result *result)
{
	uint64_t start = pp_now_ns();
	int ret = check(m);

	if (!ret)
		ret = run(m);
	if (!m->result.bounced && !ret)
		m->result.reason = m->result.error = 0;
	m->result.total_ns = pp_now_ns() - start;
	say(m, ret);
	if (result)
		*result = m->result;
	return ret;
}

PP_PUBLIC int pp_file_read(struct pp_file *f, void *dst, size_t length, uint64_t offset,
			   struct pp_file_result *result)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	struct pp_move m = { .file = f, .addr = (uintptr_t)dst, .offset = offset, .left = length };

	return move(&m, result);
}

PP_PUBLIC int pp_file_write(struct pp_file *f, const void *src, size_t length, uint64_t offset,
			    struct pp_file_result *result)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	struct pp_move m = { .file = f, .write = true, .addr = (uintptr_t)src, .offset = offset, .left = length };

	return move(&m, result);
}

/* ---- reasons --------------------------------------------------------------------- */

static const char *const text[] = {
	[PP_FILE_ALL_DIRECT] = "the disk's DMA moved all bytes",
	[PP_FILE_EDGES] = "the range does not begin and end on block boundaries of the file",
	[PP_FILE_UNALIGNED] = "the address in GPU memory and the offset in the file are aligned differently",
	[PP_FILE_NO_DIRECT_IO] = "the file system has no direct I/O for this file",
	[PP_FILE_NO_CACHE] = "the file was opened without a cache of views",
	[PP_FILE_NO_EXPORT] = "the GPU's driver exports no dma-buf of this memory",
	[PP_FILE_NO_VIEW] =
		"the GPU's driver cannot map its dma-bufs; NVIDIA's can since 610.43.02, with PCI_P2PDMA in the kernel",
	[PP_FILE_NO_PAGES] =
		"the mapping of the GPU's driver has no pages for the disk's DMA: driver or kernel lacks PCI_P2PDMA",
	[PP_FILE_NO_WAY] =
		"the disk's driver rejects memory of other devices, or the kernel finds no PCIe path to the GPU",
};

PP_PUBLIC const char *pp_file_strreason(uint32_t reason)
{
	if (reason < sizeof(text) / sizeof(text[0]) && text[reason])
		return text[reason];
	return "unknown reason: not a value that this library returns";
}

// SPDX-License-Identifier: MIT
/* Dma-bufs that the GPU's driver exports. */
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <peerpin.h>
#include <stdlib.h>
#include <unistd.h>
#include "allocation.h"
#include "lib/sys/cancel.h"
#include "context.h"
#include "cuda_api.h"
#include "dmabuf.h"
#include "query.h"
#include "lib/sys/sys.h"
#include "why.h"

bool pp_export_can(void)
{
	return pp_cuda() && pp_cuda()->get_handle;
}

/* Has the process run out of descriptors? CUDA's error code does not tell. */
static bool may_open_none(void)
{
	int fd = open("/", O_PATH | O_CLOEXEC);
	bool none = fd < 0 && errno == EMFILE;

	if (fd >= 0)
		close(fd);
	return none;
}

static int explain(int error, struct pp_why *why)
{
	switch (error) {
	case PP_CU_OUT_OF_MEMORY:
		return pp_refuse(why, PEERPIN_REASON_NO_BAR1, -ENOMEM);
	case PP_CU_NOT_SUPPORTED:
		return pp_refuse(why, PEERPIN_REASON_NO_API, -EOPNOTSUPP);
	case PP_CU_INVALID_VALUE:
		return pp_refuse(why, PEERPIN_REASON_VENDOR_REFUSED, -EINVAL);
	case PP_CU_OPERATING_SYSTEM:
		return pp_refuse(why, PEERPIN_REASON_VENDOR_ERROR, may_open_none() ? -EMFILE : -EIO);
	default:
		return pp_refuse(why, PEERPIN_REASON_VENDOR_ERROR, -EIO);
	}
}

static bool is_coherent(int device)
{
	int value = 0;

	return pp_cuda()->device_attribute && !pp_cuda()->device_attribute(&value, PP_CU_IS_COHERENT, device) && value;
}

static int get_handle(struct pp_export *e, unsigned long long flags)
{
	return pp_cuda()->get_handle(&e->pub.fd, e->pub.addr, e->pub.length, PP_CU_DMA_BUF_FD, flags);
}

/* Drivers before 570 do not know the flag (INVALID_VALUE). Later ones may not support it (NOT_SUPPORTED). */
static int get_best_handle(struct pp_export *e, int device)
{
	int error = is_coherent(device) ? get_handle(e, PP_CU_MAPPING_TYPE_PCIE) : PP_CU_NOT_SUPPORTED;

	return error == PP_CU_NOT_SUPPORTED || error == PP_CU_INVALID_VALUE ? get_handle(e, 0) : error;
}

static int export(struct pp_export *e, int device, uint32_t mapping, struct pp_why *why)
{
	struct pp_context context;
	int error;

	if (!pp_export_can())
		return pp_refuse(why, PEERPIN_REASON_NO_API, -EOPNOTSUPP);
	pp_context_enter(&context, e->parts[0].at);
	if (mapping == PP_MAPPING_BEST)
		error = get_best_handle(e, device);
	else
		error = get_handle(e, mapping == PP_MAPPING_PCIE ? PP_CU_MAPPING_TYPE_PCIE : 0);
	pp_context_leave(&context);
	if (error)
		return explain(error, why);
	e->pub.fd = pp_sys_above_stderr(e->pub.fd);
	return e->pub.fd < 0 ? pp_refuse(why, PEERPIN_REASON_VENDOR_ERROR, e->pub.fd) : 0;
}

bool pp_export_is_valid(const struct pp_export *e)
{
	size_t i;

	for (i = 0; i < e->count; i++)
		if (pp_query_buffer_id(e->parts[i].at) != e->parts[i].buffer_id)
			return false;
	return true;
}

/* CUDA never uses an id twice, so the same ids after the export prove that no other allocation was exported. */
static int export_verified(struct pp_export *e, int device, uint32_t mapping, struct pp_why *why)
{
	int ret = export(e, device, mapping, why);

	if (ret || pp_export_is_valid(e))
		return ret;
	pp_sys_close(e->pub.fd);
	return pp_refuse(why, PEERPIN_REASON_REVOKED, -ESTALE);
}

/* ---- parts ------------------------------------------------------------------------- */

enum { PARTS = 16 };	/* parts that memory is taken for at a time */

static int add_part(struct pp_export **e, uint64_t at, uint64_t buffer_id)
{
	size_t count = *e ? (*e)->count : 0;
	struct pp_export *more;

	if (!(count % PARTS)) {
		more = realloc(*e, sizeof(**e) + (count + PARTS) * sizeof(*more->parts));
		if (!more)
			return -ENOMEM;
		*e = more;
	}
	(*e)->parts[count] = (struct pp_part){ at, buffer_id };
	(*e)->count = count + 1;
	return 0;
}

/*
 * May a dma-buf contain this allocation and the next one? Only memory of cuMemMap() has neighbours that
 * belong together, for example the segments of PyTorch's expandable_segments. CUDA sets no
 * SYNC_MEMOPS on this memory.
 */
static bool may_continue(const struct pp_mem *mem)
{
	return mem->kind == PP_MEM_GPU && pp_sync_memops((const void *)(uintptr_t)mem->base) == -EOPNOTSUPP;
}

/* @mem: the memory at @addr, and the last part on return */
static int find_parts(uint64_t addr, uint64_t length, struct pp_mem *mem, struct pp_export **e, struct pp_why *why)
{
	int ret = add_part(e, addr, mem->buffer_id);
	uint64_t next;

	while (!ret && !pp_allocation_holds(mem, addr, length)) {
		if (!may_continue(mem))
			return pp_allocation_prepare(mem, addr, length, why);
		next = mem->base + mem->size;
		length -= next - addr;
		addr = next;
		pp_query((const void *)(uintptr_t)addr, mem);
		if (mem->kind != PP_MEM_GPU)
			return pp_refuse(why, PEERPIN_REASON_VENDOR_REFUSED, -EINVAL);
		ret = add_part(e, addr, mem->buffer_id);
	}
	return ret ? ret : pp_allocation_prepare(mem, addr, length, why);
}

/* A driver that does not export several parts at once refuses the range. */
static void explain_parts(const struct pp_export *e, struct pp_why *why)
{
	if (e->count > 1 && why->reason == PEERPIN_REASON_VENDOR_REFUSED)
		*why = (struct pp_why){ .reason = PEERPIN_REASON_SPANS, .available = e->parts[1].at };
}

int pp_export_make(uint64_t addr, uint64_t length, uint32_t mapping, struct pp_export **out, struct pp_why *why)
{
	uint64_t mask = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	struct pp_export *e = NULL;
	struct pp_mem mem;
	int ret, device;

	pp_query((const void *)(uintptr_t)addr, &mem);
	if (mem.kind == PP_MEM_HOST)
		return pp_refuse(why, PEERPIN_REASON_NOT_GPU, -EOPNOTSUPP);
	device = mem.device;
	ret = find_parts(addr, length, &mem, &e, why);
	if (!ret) {
		e->pub.addr = addr & ~mask;
		e->pub.length = ((addr + length + mask) & ~mask) - e->pub.addr;
		ret = export_verified(e, device, mapping, why);
		explain_parts(e, why);
	}
	if (ret)
		free(e);
	else
		*out = e;
	return ret;
}

/* If the range ends in another allocation than it begins in, widens to all of both. */
int pp_export_grow(void *unused, uint64_t *addr, uint64_t *length)
{
	uint64_t last = *addr + *length - 1;
	struct pp_mem mem, end;

	(void)unused;
	pp_query((const void *)(uintptr_t)*addr, &mem);
	if (mem.kind != PP_MEM_GPU)
		return 1;
	if (pp_allocation_holds(&mem, *addr, *length)) {
		pp_allocation_grow(&mem, addr, length);
		return 1;
	}
	pp_query((const void *)(uintptr_t)last, &end);
	if (end.kind == PP_MEM_GPU && end.base + (end.size - 1) >= last) {
		*addr = mem.base;
		*length = end.base + end.size - mem.base;
	}
	return 1;
}

PP_PUBLIC int pp_dmabuf_export_mapped(const void *addr, size_t length, uint32_t mapping, struct pp_dmabuf *out,
				      struct pp_why *why)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	struct pp_export *e;
	struct pp_why ignored;
	int ret;

	why = why ? why : &ignored;
	*why = (struct pp_why){ 0 };
	if (!length || !out || mapping > PP_MAPPING_DEFAULT)
		return -EINVAL;
	ret = pp_export_make((uintptr_t)addr, length, mapping, &e, why);
	if (ret)
		return ret;
	*out = e->pub;
	free(e);
	return 0;
}

PP_PUBLIC int pp_dmabuf_export(const void *addr, size_t length, struct pp_dmabuf *out, struct pp_why *why)
{
	return pp_dmabuf_export_mapped(addr, length, PP_MAPPING_BEST, out, why);
}

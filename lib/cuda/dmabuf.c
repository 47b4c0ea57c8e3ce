// SPDX-License-Identifier: MIT
/* Dma-bufs that the GPU's driver exports. */
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <peerpin.h>
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
	pp_context_enter(&context, e->at);
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

/* CUDA never uses an id twice, so the same id after the export proves that no other allocation was exported. */
static int export_verified(struct pp_export *e, int device, uint32_t mapping, struct pp_why *why)
{
	int ret = export(e, device, mapping, why);

	if (ret || pp_query_buffer_id(e->at) == e->buffer_id)
		return ret;
	pp_sys_close(e->pub.fd);
	return pp_refuse(why, PEERPIN_REASON_REVOKED, -ESTALE);
}

int pp_export_make(uint64_t addr, uint64_t length, uint32_t mapping, struct pp_export *out, struct pp_why *why)
{
	uint64_t mask = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
	struct pp_mem mem;
	int ret;

	pp_query((const void *)(uintptr_t)addr, &mem);
	if (mem.kind == PP_MEM_HOST)
		return pp_refuse(why, PEERPIN_REASON_NOT_GPU, -EOPNOTSUPP);
	ret = pp_allocation_prepare(&mem, addr, length, why);
	if (ret)
		return ret;
	out->at = addr;
	out->buffer_id = mem.buffer_id;
	out->pub.addr = addr & ~mask;
	out->pub.length = ((addr + length + mask) & ~mask) - out->pub.addr;
	return export_verified(out, mem.device, mapping, why);
}

int pp_export_grow(void *unused, uint64_t *addr, uint64_t *length)
{
	struct pp_mem mem;

	(void)unused;
	pp_query((const void *)(uintptr_t)*addr, &mem);
	if (mem.kind == PP_MEM_GPU)
		pp_allocation_grow(&mem, addr, length);
	return 1;
}

PP_PUBLIC int pp_dmabuf_export_mapped(const void *addr, size_t length, uint32_t mapping, struct pp_dmabuf *out,
				      struct pp_why *why)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	struct pp_export e;
	struct pp_why ignored;
	int ret;

	why = why ? why : &ignored;
	*why = (struct pp_why){ 0 };
	if (!length || !out || mapping > PP_MAPPING_DEFAULT)
		return -EINVAL;
	ret = pp_export_make((uintptr_t)addr, length, mapping, &e, why);
	if (!ret)
		*out = e.pub;
	return ret;
}

PP_PUBLIC int pp_dmabuf_export(const void *addr, size_t length, struct pp_dmabuf *out, struct pp_why *why)
{
	return pp_dmabuf_export_mapped(addr, length, PP_MAPPING_BEST, out, why);
}

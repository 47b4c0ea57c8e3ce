/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints, for perf and /sys/kernel/tracing/events/peerpin. A duration is 0 ns if its
 * event was not enabled when the call began.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM peerpin

#if !defined(_PEERPIN_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _PEERPIN_TRACE_H

#include <linux/err.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include <linux/tracepoint.h>
#include "../dma/attach.h"
#include "../dma/peer.h"
#include "../region/account.h"
#include "../region/region.h"
#include "watch.h"

#ifndef pp_trace_start
#define pp_trace_start(event) (trace_peerpin_##event##_enabled() ? ktime_get_ns() : 0)
#define pp_trace_ns(start) ((start) ? ktime_get_ns() - (start) : 0)

/* Device names are cut to this length, so that records have a fixed size. */
#define PP_TRACE_NAME 32
#endif

/* Records have the provider's id, as its module may be unloaded before the trace is read. */
#define show_provider(id)							\
	__print_symbolic(id,						\
			 { PEERPIN_PROVIDER_AUTO, "auto" },		\
			 { PEERPIN_PROVIDER_HOST, "host" },		\
			 { PEERPIN_PROVIDER_NV, "nv" },			\
			 { PEERPIN_PROVIDER_TEGRA, "tegra" },		\
			 { PEERPIN_PROVIDER_DMABUF, "dmabuf" })

TRACE_DEFINE_ENUM(PEERPIN_PROVIDER_AUTO);
TRACE_DEFINE_ENUM(PEERPIN_PROVIDER_HOST);
TRACE_DEFINE_ENUM(PEERPIN_PROVIDER_NV);
TRACE_DEFINE_ENUM(PEERPIN_PROVIDER_TEGRA);
TRACE_DEFINE_ENUM(PEERPIN_PROVIDER_DMABUF);

#define show_dir(dir)								\
	__print_symbolic(dir,						\
			 { DMA_BIDIRECTIONAL, "both" },			\
			 { DMA_TO_DEVICE, "to-device" },		\
			 { DMA_FROM_DEVICE, "from-device" })

TRACE_DEFINE_ENUM(DMA_BIDIRECTIONAL);
TRACE_DEFINE_ENUM(DMA_TO_DEVICE);
TRACE_DEFINE_ENUM(DMA_FROM_DEVICE);

/* @r: the region, or ERR_PTR. With ERR_PTR, @provider is the user's choice */
TRACE_EVENT(peerpin_pin,
	TP_PROTO(const struct pp_request *want, u32 provider, u32 flags,
		 const struct peerpin_region *r, const struct pp_why *why, u64 start),
	TP_ARGS(want, provider, flags, r, why, start),
	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(u64, addr)
		__field(u64, length)
		__field(u64, ns)
		__field(pid_t, pid)
		__field(u32, provider)
		__field(u32, flags)
		__field(int, ret)
		__field(u32, reason)
	),
	TP_fast_assign(
		__entry->cookie = IS_ERR(r) ? 0 : r->cookie;
		__entry->addr = want->addr;
		__entry->length = want->length;
		__entry->ns = pp_trace_ns(start);
		__entry->pid = task_tgid_nr(current);
		__entry->provider = IS_ERR(r) ? provider : r->provider->id;
		__entry->flags = flags;
		__entry->ret = PTR_ERR_OR_ZERO(r);
		__entry->reason = IS_ERR(r) ? why->reason : 0;
	),
	TP_printk("cookie=%llx pid=%d provider=%s addr=0x%llx length=%llu flags=0x%x ret=%d reason=%u ns=%llu",
		  __entry->cookie, __entry->pid, show_provider(__entry->provider),
		  __entry->addr, __entry->length, __entry->flags, __entry->ret,
		  __entry->reason, __entry->ns)
);

/* @left: the pages stay pinned, for DMA, for an importer, or until their memory is freed */
TRACE_EVENT(peerpin_unpin,
	TP_PROTO(const struct peerpin_region *r, bool left, u64 start),
	TP_ARGS(r, left, start),
	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(u64, length)
		__field(u64, ns)
		__field(bool, left)
	),
	TP_fast_assign(
		__entry->cookie = r->cookie;
		__entry->length = r->length;
		__entry->ns = pp_trace_ns(start);
		__entry->left = left;
	),
	TP_printk("cookie=%llx length=%llu left=%d ns=%llu", __entry->cookie,
		  __entry->length, __entry->left, __entry->ns)
);

/* a new mapping; finding an existing mapping is no event. @a: the attachment, or ERR_PTR */
TRACE_EVENT(peerpin_attach,
	TP_PROTO(const struct peerpin_region *r, const struct peerpin_peer *peer,
		 const struct peerpin_attach *a, u64 start),
	TP_ARGS(r, peer, a, start),
	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(u64, ns)
		__array(char, device, PP_TRACE_NAME)
		__field(u32, entries)
		__field(int, ret)
	),
	TP_fast_assign(
		__entry->cookie = r->cookie;
		__entry->ns = pp_trace_ns(start);
		strscpy(__entry->device, peer->name, PP_TRACE_NAME);
		__entry->entries = IS_ERR(a) ? 0 : a->map.sgt.nents;
		__entry->ret = PTR_ERR_OR_ZERO(a);
	),
	TP_printk("cookie=%llx device=%s entries=%u ret=%d ns=%llu",
		  __entry->cookie, __entry->device, __entry->entries,
		  __entry->ret, __entry->ns)
);

DECLARE_EVENT_CLASS(peerpin_dma,
	TP_PROTO(const struct peerpin_dma *dma, u64 start),
	TP_ARGS(dma, start),
	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(u64, offset)
		__field(u64, length)
		__field(u64, ns)
		__array(char, device, PP_TRACE_NAME)
		__field(u32, dir)
	),
	TP_fast_assign(
		__entry->cookie = dma->attach->region->cookie;
		__entry->offset = dma->offset;
		__entry->length = dma->length;
		__entry->ns = pp_trace_ns(start);
		strscpy(__entry->device, dma->attach->peer->name, PP_TRACE_NAME);
		__entry->dir = dma->dir;
	),
	TP_printk("cookie=%llx device=%s offset=%llu length=%llu dir=%s ns=%llu",
		  __entry->cookie, __entry->device, __entry->offset,
		  __entry->length, show_dir(__entry->dir), __entry->ns)
);

/* ns: duration of peerpin_dma_begin() */
DEFINE_EVENT(peerpin_dma, peerpin_dma_begin,
	TP_PROTO(const struct peerpin_dma *dma, u64 start),
	TP_ARGS(dma, start)
);

/* ns: time from the begin to the end of the transfer */
DEFINE_EVENT(peerpin_dma, peerpin_dma_end,
	TP_PROTO(const struct peerpin_dma *dma, u64 start),
	TP_ARGS(dma, start)
);

/*
 * @soon: recorded by a work item, after pp_revoke_soon() or a deferred pp_revoke()
 * @inflight: number of DMA transfers in flight when the revocation began. With @soon, and
 *	if a device is unbound: number of transfers in flight after stop(). All transfers that are
 *	counted in the @many of an attachment are one
 * @overdue: some DMA exceeded drain_timeout_ms
 */
TRACE_EVENT(peerpin_revoke,
	TP_PROTO(const struct peerpin_region *r, bool soon, u32 inflight,
		 bool overdue, u64 start),
	TP_ARGS(r, soon, inflight, overdue, start),
	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(u64, ns)
		__field(u32, inflight)
		__field(bool, soon)
		__field(bool, overdue)
	),
	TP_fast_assign(
		__entry->cookie = r->cookie;
		__entry->ns = pp_trace_ns(start);
		__entry->inflight = inflight;
		__entry->soon = soon;
		__entry->overdue = overdue;
	),
	TP_printk("cookie=%llx soon=%d inflight=%u overdue=%d ns=%llu",
		  __entry->cookie, __entry->soon, __entry->inflight,
		  __entry->overdue, __entry->ns)
);

TRACE_EVENT(peerpin_watch,
	TP_PROTO(const struct peerpin_watch *c, int ret, const struct pp_why *why, u64 start),
	TP_ARGS(c, ret, why, start),
	TP_STRUCT__entry(
		__field(u64, addr)
		__field(u64, length)
		__field(u64, ns)
		__field(pid_t, pid)
		__field(int, ret)
		__field(u32, reason)
	),
	TP_fast_assign(
		__entry->addr = c->addr;
		__entry->length = c->length;
		__entry->ns = pp_trace_ns(start);
		__entry->pid = task_tgid_nr(current);
		__entry->ret = ret;
		__entry->reason = why->reason;
	),
	TP_printk("pid=%d addr=0x%llx length=%llu ret=%d reason=%u ns=%llu", __entry->pid, __entry->addr,
		  __entry->length, __entry->ret, __entry->reason, __entry->ns)
);

/* the word has changed, before a page of the range can change. @w: the whole pages of the range */
TRACE_EVENT(peerpin_watch_changed,
	TP_PROTO(const struct pp_watch *w),
	TP_ARGS(w),
	TP_STRUCT__entry(
		__field(u64, addr)
		__field(u64, length)
		__field(pid_t, pid)
	),
	TP_fast_assign(
		__entry->addr = w->range.node.start;
		__entry->length = pp_space_range_bytes(&w->range);
		__entry->pid = pid_nr(pp_account_owner(w->account));
	),
	TP_printk("pid=%d addr=0x%llx length=%llu", __entry->pid, __entry->addr, __entry->length)
);

#endif

/* trace.c includes this file again; Kbuild adds this directory to its include path. */
#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>

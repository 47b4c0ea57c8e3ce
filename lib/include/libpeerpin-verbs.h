/* SPDX-License-Identifier: MIT */
/*
 * libpeerpin-verbs: memory regions of libibverbs for any pointer, host or GPU.
 *
 * Link with -lpeerpin-verbs -lpeerpin -libverbs. As in libpeerpin, every
 * function returns 0 or a negative errno unless it says otherwise, leaves errno
 * alone, prints nothing and never exits; any thread may call any of them.
 */
#ifndef LIBPEERPIN_VERBS_H
#define LIBPEERPIN_VERBS_H

#include <infiniband/verbs.h>
#include <libpeerpin.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pp_verbs;

/** enum pp_mr_way - how memory was, or was to be, registered */
enum pp_mr_way {
	PP_MR_HOST,		/* ibv_reg_mr() of host memory */
	PP_MR_VENDOR_DMABUF,	/* ibv_reg_dmabuf_mr() of a dma-buf of the GPU's driver */
	PP_MR_PEERPIN_DMABUF,	/* the same, of a region of /dev/peerpin */
	PP_MR_PEER_MEMORY,	/* ibv_reg_mr() of GPU memory: a peer-memory client pins it */
	PP_MR_WAYS,
};

/**
 * struct pp_mr - a registration; read only for the caller
 * @mr: with the lkey and rkey; its addresses are the program's own
 * @addr: first byte it covers
 * @length: bytes, as many as were asked for or more: whoever has the rkey reaches
 *	them all
 * @way: how it was made
 */
struct pp_mr {
	struct ibv_mr *mr;
	uint64_t addr;
	uint64_t length;
	enum pp_mr_way way;
};

/**
 * struct pp_mr_attempt - a way that did not work
 * @way: which
 * @call: name of the function that failed
 * @error: what it failed with, negative
 * @why: more about it; reason 0 when none is known
 */
struct pp_mr_attempt {
	enum pp_mr_way way;
	const char *call;
	int error;
	struct pp_why why;
};

/**
 * struct pp_mr_why - why pp_verbs_reg() failed
 * @why: of the whole; reason 0 where @attempts say all
 * @count: of @attempt
 * @attempt: in the order in which they were made
 */
struct pp_mr_why {
	struct pp_why why;
	unsigned int count;
	struct pp_mr_attempt attempt[PP_MR_WAYS];
};

/**
 * pp_verbs_open - register memory in a protection domain
 * @pd: must outlive it
 * @access: enum ibv_access_flags of all its registrations; for others open
 *	another one
 * @limits: NULL, or how much may stay registered unused; pin_flags and watch 0
 * @out: to be closed with pp_verbs_close()
 *
 * Opens /dev/peerpin, and does without where it cannot.
 *
 * Return: 0; -EINVAL @pd is NULL, or pin_flags or watch are not 0; -ENOMEM.
 */
int pp_verbs_open(struct ibv_pd *pd, int access, const struct pp_cache_attr *limits, struct pp_verbs **out);

/**
 * pp_verbs_close - deregister everything; NULL is fine
 *
 * No registration may be in use, nor have memory windows bound to it. In a child
 * of fork() it deregisters nothing.
 */
void pp_verbs_close(struct pp_verbs *v);

/**
 * pp_verbs_reg - register a range of any memory of this process
 * @addr: first byte, any alignment
 * @length: bytes, not 0
 * @out: hold it while the adapter or a remote one uses it, then
 *	pp_verbs_unreg() once
 * @why: NULL, or filled in on failure: see pp_verbs_explain()
 *
 * Registered before: that is returned, at the cost of a lookup, and for GPU
 * memory of one CUDA call. Else whole allocations of GPU memory where they fit,
 * and whole pages of host memory, are registered, in the first of these ways
 * that works. GPU memory: a dma-buf from the GPU's driver; a dma-buf from
 * /dev/peerpin; peer memory. Anything else: ibv_reg_mr().
 *
 * Never returns a registration whose memory was freed before the call began;
 * host memory that /dev/peerpin does not watch (the module is not loaded, no room
 * for it) is therefore registered anew in each call. Until it is noticed or
 * invalidated, the keys of what is freed afterwards reach the freed pages, which
 * nobody else is given, or none; but in a block of 2 MiB that small GPU allocations
 * share, and in a pool, whatever comes there next: see pp_region_valid().
 *
 * Return: 0; -EINVAL empty, overflowing or managed memory; -EACCES in a child of
 * fork(); -ESTALE memory was freed meanwhile; -ENOMEM also for locked memory
 * (ulimit -l); -EMFILE too many descriptors: no registration keeps one, so none is
 * given up for it; of ways that failed, the error of the first, or of one that was
 * short of room.
 */
int pp_verbs_reg(struct pp_verbs *v, const void *addr, size_t length, const struct pp_mr **out,
		 struct pp_mr_why *why);

/** pp_verbs_unreg - done with a registration, got by any thread; it stays until it is evicted */
void pp_verbs_unreg(struct pp_verbs *v, const struct pp_mr *mr);

/**
 * pp_verbs_cache - its cache
 *
 * For pp_cache_invalidate(), pp_cache_flush() and pp_cache_stats(). It is
 * @v's: not to be destroyed; entries that are got from it are struct pp_mr too.
 * Gets from it answer -ENFILE where pp_verbs_reg() answers -EMFILE.
 */
struct pp_cache *pp_verbs_cache(struct pp_verbs *v);

/**
 * pp_verbs_explain - one sentence for a registration that failed
 * @out: where it goes, cut where @room ends; NULL when @room is 0
 * @error: what pp_verbs_reg() returned
 * @why: NULL, or what it filled in
 *
 * Return: its length, whether it found room or not, as snprintf() does.
 */
int pp_verbs_explain(char *out, size_t room, int error, const struct pp_mr_why *why);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT */
/*
 * libpeerpin-verbs: memory regions of libibverbs for any pointer, host or GPU.
 *
 * Link with -lpeerpin-verbs -lpeerpin -libverbs. The rules at the top of libpeerpin.h hold
 * here too: return values, units, threads, fork(), and the crash in CUDA's driver
 * (pp_verbs_reg() asks CUDA). pp_verbs_close() must be the last call on its object.
 */
#ifndef LIBPEERPIN_VERBS_H
#define LIBPEERPIN_VERBS_H

#include <infiniband/verbs.h>
#include <libpeerpin.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pp_verbs;

/** enum pp_mr_way - ways to register memory */
enum pp_mr_way {
	PP_MR_HOST,		/* ibv_reg_mr() of host memory */
	PP_MR_VENDOR_DMABUF,	/* ibv_reg_dmabuf_mr() of a dma-buf of the GPU's driver */
	PP_MR_PEERPIN_DMABUF,	/* ibv_reg_dmabuf_mr() of a dma-buf of a region of /dev/peerpin */
	PP_MR_PEER_MEMORY,	/* ibv_reg_mr() of GPU memory: a peer-memory client pins it */
	PP_MR_WAYS,		/* does not grow: it is the length of an array of struct pp_mr_why */
};

/**
 * struct pp_mr - a registration; read-only for the caller
 * @mr: has lkey and rkey; work requests use the program's own addresses
 * @addr: first registered byte
 * @length: registered bytes, which include the requested range. A remote peer with the rkey can
 *	access all of them
 * @way: the way in which the memory was registered
 */
struct pp_mr {
	struct ibv_mr *mr;
	uint64_t addr;
	uint64_t length;
	enum pp_mr_way way;
};

/**
 * struct pp_mr_attempt - a failed attempt to register memory
 * @way: the way that was tried
 * @call: name of the function that failed
 * @error: its error, negative
 * @why: more about the error; reason 0: unknown
 */
struct pp_mr_attempt {
	enum pp_mr_way way;
	const char *call;
	int error;
	struct pp_why why;
};

/**
 * struct pp_mr_why - why pp_verbs_reg() failed
 * @why: reason of the whole failure; reason 0: see @attempt
 * @count: number of elements in @attempt
 * @attempt: failed attempts, in the order tried
 */
struct pp_mr_why {
	struct pp_why why;
	unsigned int count;
	struct pp_mr_attempt attempt[PP_MR_WAYS];
};

/**
 * pp_verbs_open - prepare to register memory in a protection domain
 * @pd: must outlive the object
 * @access: enum ibv_access_flags of all registrations of this object; open another object
 *	for other flags
 * @limits: NULL, or limits of the cached registrations; watch must be 0. With PEERPIN_PIN_PERSISTENT
 *	in pin_flags, PP_MR_PEERPIN_DMABUF makes persistent pins; the other ways have none
 * @out: set on success; close it with pp_verbs_close()
 *
 * Opens /dev/peerpin. If the open fails, the object works without the device.
 *
 * Return: 0; -EINVAL @pd or @out is NULL, or watch is not 0; -EOPNOTSUPP unknown pin_flags; -ENOMEM.
 */
int pp_verbs_open(struct ibv_pd *pd, int access, const struct pp_cache_attr *limits, struct pp_verbs **out)
	PP_WRITES(4);

/**
 * pp_verbs_close - deregister all memory and free the object
 * @v: may be NULL
 *
 * No registration may be in use or have memory windows bound to it. In a child of fork() it
 * deregisters nothing.
 */
void pp_verbs_close(struct pp_verbs *v);

/**
 * pp_verbs_reg - get a registration of a range of any memory of this process
 * @addr: first byte, any alignment
 * @length: bytes, not 0
 * @out: set on success. Call pp_verbs_unreg() once for each pp_verbs_reg(), when neither the
 *	local adapter nor a remote one uses the registration any more
 * @why: NULL, or filled in on failure: see pp_verbs_explain()
 *
 * If a cached registration covers the range, returns that registration. The cost is a look-up
 * and, for GPU memory, one CUDA call. Else registers the whole GPU allocation if there is room,
 * or whole pages of host memory. GPU memory is registered in the first way that works: a
 * dma-buf of the GPU's driver, a dma-buf of /dev/peerpin, peer memory. Host memory is registered
 * by ibv_reg_mr(). So is memory of a device that CUDA does not know (another vendor's GPU, by
 * peer memory), but only without /dev/peerpin: with it, the call returns -EINVAL.
 *
 * Never returns a registration of memory that was freed before the call began. To detect the
 * free of host memory, the library watches it (pp_watch()). If that is impossible, because the
 * module is not loaded or has no room for a watch, each call registers the memory again.
 *
 * If memory is freed later, its keys give access to no pages, or to the freed pages, which get
 * no new owner. Exception: with small and pooled GPU allocations (libpeerpin.h) the keys give
 * access to the next contents of the block. This access ends when a later call finds the
 * registration stale, or by pp_cache_invalidate() on pp_verbs_cache().
 *
 * Return: 0; -EINVAL the range is empty or overflows, is managed memory, reaches past the end
 * of a GPU allocation, or is GPU memory that CUDA lets no device access; -EACCES in a child of
 * fork(); -ESTALE the memory was freed; -ENOMEM also if the limit of locked memory is too low
 * (ulimit -l); -EMFILE too many descriptors: registrations hold no descriptors, so none is
 * evicted. If all ways fail: the error of the first way, or of a way that had no room.
 */
int pp_verbs_reg(struct pp_verbs *v, const void *addr, size_t length, const struct pp_mr **out,
		 struct pp_mr_why *why) PP_ADDRESS_ONLY(2) PP_WRITES(4) PP_WRITES(5);

/**
 * pp_verbs_unreg - drop the reference of one pp_verbs_reg(); any thread may do it
 *
 * The memory stays registered until the registration is evicted or invalidated.
 */
void pp_verbs_unreg(struct pp_verbs *v, const struct pp_mr *mr);

/**
 * pp_verbs_cache - return the cache of the registrations; it belongs to @v
 *
 * For pp_cache_invalidate(), pp_cache_flush() and pp_cache_stats(); do not destroy it. The @reg
 * of an entry that a get returns is a struct pp_mr *; put such an entry by pp_cache_put(). A
 * get returns -ENFILE where pp_verbs_reg() returns -EMFILE.
 */
struct pp_cache *pp_verbs_cache(struct pp_verbs *v);

/**
 * pp_verbs_explain - write one sentence about a registration that failed
 * @out: buffer, always terminated; NULL if @room is 0
 * @room: bytes in @out; a longer sentence is truncated
 * @error: what pp_verbs_reg() returned
 * @why: NULL, or what pp_verbs_reg() filled in
 *
 * Return: length of the whole sentence, truncated or not, as snprintf().
 */
int pp_verbs_explain(char *out, size_t room, int error, const struct pp_mr_why *why) PP_WRITES_BYTES(1, 2);

#ifdef __cplusplus
}
#endif
#endif

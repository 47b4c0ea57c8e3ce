/* SPDX-License-Identifier: MIT */
/*
 * libpeerpin: the userspace communication library of GPUDirect RDMA.
 *
 * Every function returns 0 or a negative errno unless it says otherwise,
 * leaves errno alone, prints nothing and never exits. Sizes and offsets are
 * bytes, times nanoseconds. All functions may be called from any thread,
 * several at once on the same objects; pp_close(), pp_cache_destroy(),
 * pp_peer_close() and pp_file_close() are the last call on theirs. None is a
 * cancellation point, or may be called in a signal handler. After fork()
 * the child must not use objects of the parent: calls answer -EACCES there.
 * Descriptors that it makes or hands out are never 0, 1 or 2.
 *
 * "seed N" is the section of NVIDIA's guide "Developing a Linux Kernel Module using
 * GPUDirect RDMA" (release 12.9) that a call implements; the Jetson article is
 * "GPUDirect RDMA on NVIDIA Jetson AGX Xavier", NVIDIA's too.
 */
#ifndef LIBPEERPIN_H
#define LIBPEERPIN_H

#include <stddef.h>
#include <stdint.h>

#define PP_VERSION "1.0.0"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- query: whose memory is it (seed 13.1, 13.2) ---------------------- */

enum pp_mem_kind {
	PP_MEM_HOST,		/* anything CUDA does not know */
	PP_MEM_GPU,
	PP_MEM_MANAGED,		/* migrates: must not be pinned (seed ch. 4) */
};

/**
 * struct pp_mem - what pp_query() knows of an address
 * @kind: whose
 * @device: CUDA ordinal; -1 for host memory
 * @base: first byte of the whole allocation; 0 for host memory
 * @size: bytes of the whole allocation; 0 for host memory
 * @buffer_id: CUDA's id of the allocation, never used twice; 0 for host memory
 * @rdma: 1: CUDA lets devices reach it; 0 for host memory, and for GPU memory
 *	that was made without (cuMemCreate() and pools, unless asked to)
 * @pooled: 1: of a stream-ordered pool, which may keep what is freed
 */
struct pp_mem {
	enum pp_mem_kind kind;
	int device;
	uint64_t base;
	uint64_t size;
	uint64_t buffer_id;
	int rdma;
	int pooled;
};

/**
 * pp_query - tell whose memory an address is
 * @addr: any address; need not be mapped
 * @out: filled in on success
 *
 * One CUDA call (cuPointerGetAttributes); none in a process that has not
 * loaded CUDA: the library never loads libcuda by itself here. A GPU address
 * that was freed is reported as PP_MEM_HOST: nobody can tell it from one that
 * CUDA never knew. So is every address while CUDA itself fails, as it does
 * after a fault on the GPU. CUDA's driver (580.159) crashes when it is asked for
 * less than 2 MiB that another thread frees at that moment: also in pins, in gets
 * that miss, and in all of PP_WATCH_TAG.
 *
 * Return: 0; -EINVAL @out is NULL.
 */
int pp_query(const void *addr, struct pp_mem *out);

/**
 * pp_sync_memops - make CUDA's copies on an allocation synchronous
 * @addr: address inside a GPU allocation
 *
 * Needed once per allocation before a peer first reads or writes it (seed
 * 11.7); the cache does it on each miss. Copies that were started before, and
 * those of Async functions, are the caller's to wait for. -EINVAL: not GPU memory;
 * -EOPNOTSUPP memory that the program maps itself (cuMemMap()), of which CUDA knows
 * no such mode: wait for its copies before a peer is started.
 */
int pp_sync_memops(const void *addr);

/* ---- context and region ------------------------------------------------ */

struct pp_ctx;

/**
 * struct pp_region - pinned memory; read only for the caller
 * @addr: first byte (rounded down to @page_size from what was asked for)
 * @length: bytes, multiple of @page_size
 * @page_size: granularity of the provider
 * @id: region id for ioctls of peer drivers, with pp_fd()
 * @slot: word in the revocation page
 * @epoch: value of that word while the region is valid
 * @provider: enum peerpin_provider
 */
struct pp_region {
	uint64_t addr;
	uint64_t length;
	uint32_t page_size;
	uint32_t id;
	uint32_t slot;
	uint32_t epoch;
	uint32_t provider;
};

/**
 * struct pp_why - why a pin failed
 * @reason: enum peerpin_reason
 * @needed: bytes the reason speaks of, or 0
 * @available: bytes there were of what @needed speaks of; 0 also when that is
 *	not known
 */
struct pp_why {
	uint32_t reason;
	uint64_t needed;
	uint64_t available;
};

/**
 * pp_open - open /dev/peerpin and map its revocation page
 * @out: the context, to be closed with pp_close()
 *
 * Return: 0; -ENOENT the module is not loaded; -EACCES no permission;
 * -ENOMEM; what open() and mmap() say else.
 */
int pp_open(struct pp_ctx **out);

/**
 * pp_close - unpin everything pinned through @ctx and free it; NULL is fine
 *
 * Unpins even while a child of fork() holds the file. In the child it closes
 * the child's descriptor and unpins nothing. Regions made by ioctls on pp_fd()
 * end when the last descriptor is closed.
 */
void pp_close(struct pp_ctx *ctx);

/** pp_fd - the file to hand to a peer driver; owned by @ctx */
int pp_fd(const struct pp_ctx *ctx);

/**
 * pp_pin - pin GPU memory of this process, or host memory that it may write
 * @ctx: from pp_open()
 * @addr: first byte, any alignment
 * @length: bytes, not 0
 * @out: filled in on success; pass it to pp_unpin() once
 * @why: NULL, or filled in on failure (reason 0 when none is known)
 *
 * Where CUDA knows @addr, it decides whose memory it is. When there is no BAR1
 * space, NVML is asked how much is free, which takes a while.
 *
 * Errors: those of PEERPIN_IOC_PIN. Managed memory: -EINVAL. In a child of
 * fork(): -EACCES.
 */
int pp_pin(struct pp_ctx *ctx, const void *addr, size_t length,
	   struct pp_region *out, struct pp_why *why);

/**
 * pp_pin_with - pp_pin(), and what kind of pin
 * @flags: enum peerpin_pin_flags
 *
 * A region of PEERPIN_PIN_PERSISTENT is not revoked when its memory is freed, so
 * pp_region_valid() does not tell; the memory is not given out again before it
 * is unpinned. Errors besides those of pp_pin(): -EINVAL persistent, and no GPU
 * memory; -EOPNOTSUPP an unknown flag, or the GPU's driver makes no such pins.
 */
int pp_pin_with(struct pp_ctx *ctx, const void *addr, size_t length,
		uint32_t flags, struct pp_region *out, struct pp_why *why);

/**
 * pp_pin_dmabuf - pin a range of a dma-buf, of whatever driver
 * @ctx: from pp_open()
 * @fd: the dma-buf; may be closed afterwards
 * @offset: first byte in it, a multiple of the system's page size
 * @length: bytes, a multiple of it, not 0
 * @out: filled in on success, with @offset as its addr; pass it to pp_unpin() once
 * @why: NULL, or filled in on failure
 *
 * An exporter that takes its memory back revokes the region if it is attached
 * to a device; else the next driver that attaches it is refused.
 *
 * Errors: those of PEERPIN_IOC_PIN; -EBADF @fd is no dma-buf; -EINVAL the
 * range is not one of pages within it.
 */
int pp_pin_dmabuf(struct pp_ctx *ctx, int fd, uint64_t offset, uint64_t length,
		  struct pp_region *out, struct pp_why *why);

/**
 * pp_unpin - give a region back, revoked or not; waits for DMA in flight
 *
 * Of a dma-buf also until its exporter has unmapped, however long that is.
 */
int pp_unpin(struct pp_ctx *ctx, const struct pp_region *region);

/**
 * pp_region_valid - has the region been revoked since it was pinned?
 *
 * One load from the revocation page, and one that tells a child of fork(). 1
 * valid; 0 revoked or unpinned, or @ctx is that of the parent process.
 *
 * Small GPU allocations share a block of 2 MiB with others, and those of a
 * stream-ordered pool go back to it: freeing one of them gives no block back
 * and so revokes nothing. This stays 1, and the region reaches whatever
 * the block holds next. Compare pp_query()'s buffer_id, or use a cache, whose
 * gets do so.
 */
int pp_region_valid(const struct pp_ctx *ctx, const struct pp_region *region);

/**
 * pp_region_map - let the CPU read and write a region
 * @offset: bytes from the region's @addr, multiple of the system's page size
 * @length: bytes, not 0, rounded up to it; the end lies within the region
 * @prot: PROT_READ, or PROT_READ | PROT_WRITE, of <sys/mman.h>
 * @out: where the view begins
 *
 * GPU memory is write-combined on most machines: write it in order and in whole
 * cache lines, and read it as little as can be. A view keeps the context's file
 * open, but not the region: when that is revoked or unpinned, the next access is a
 * SIGBUS. A child of fork() has no view. mprotect() and mremap() may be used on
 * it, as on any mapping.
 *
 * Return: 0; -EINVAL unaligned, empty, or not within the region; -ESTALE the
 * region is revoked or unpinned; -EOPNOTSUPP the CPU cannot map it; -ENOMEM; what
 * mmap() says else.
 */
int pp_region_map(struct pp_ctx *ctx, const struct pp_region *region,
		  uint64_t offset, size_t length, int prot, void **out);

/**
 * pp_region_unmap - end a view, or a part of it; before or after its region ended
 *
 * Return: 0; -EINVAL @view is unaligned, or @length 0; -ENOMEM it was to be split in
 * two; -EACCES in a child of fork().
 */
int pp_region_unmap(struct pp_ctx *ctx, void *view, size_t length);

/**
 * pp_region_export - make a dma-buf of a part of a region
 * @offset: bytes from the region's @addr, a multiple of the system's page size
 * @length: bytes, a multiple of it, not 0; the end lies within the region
 * @out: its descriptor, close-on-exec; close() it when the importer has it
 *
 * For drivers that know nothing of peerpin: ibv_reg_dmabuf_mr() takes one, for
 * example. It keeps neither the region nor the context. When the region ends,
 * importers are told and lose what they have mapped; where its memory stays while
 * it is pinned (host memory, persistent pins), one that cannot be told keeps the
 * pages until it unmaps them.
 *
 * Return: 0; -EINVAL unaligned, empty, or not within the region; -ESTALE the
 * region is revoked or unpinned; -EOPNOTSUPP it is a dma-buf itself: hand that
 * on; -EDQUOT it has 1024 dma-bufs and importers of them; -EMFILE, -ENFILE, -ENOMEM;
 * -EACCES in a child of fork().
 */
int pp_region_export(struct pp_ctx *ctx, const struct pp_region *region,
		     uint64_t offset, uint64_t length, int *out);

/** pp_strreason - one sentence for an enum peerpin_reason; never NULL */
const char *pp_strreason(uint32_t reason);

/**
 * pp_explain - one sentence for a pin that failed, with its numbers
 * @out: where it goes, cut where @room ends; NULL when @room is 0
 * @error: what was returned
 * @why: NULL, or what was filled in
 *
 * "the GPU's BAR1 aperture has no room for it: 64.0 MiB needed, 12.0 MiB free"
 *
 * Return: its length, whether it found room or not, as snprintf() does.
 */
int pp_explain(char *out, size_t room, int error, const struct pp_why *why);

/* ---- registration cache (seed 11.1, 11.2, 12.5) ------------------------ */

struct pp_cache;

/**
 * struct pp_cache_entry - a cached registration; read only for the caller
 * @addr: first byte it covers
 * @length: bytes
 * @reg: what the pin callback put there (for /dev/peerpin: struct pp_region *)
 */
struct pp_cache_entry {
	uint64_t addr;
	uint64_t length;
	void *reg;
};

/**
 * struct pp_cache_ops - how ranges are registered
 * @pin: register [addr, addr + length); on success set *reg, on failure may
 *	say more in *why (never NULL). Called with no lock held. -ENOMEM,
 *	-ENOSPC, -EDQUOT or -EMFILE makes the cache evict idle entries, those that overlap
 *	the range first, then the least recently used, and try again. What the
 *	range replaces is unpinned after it is pinned: a @pin that takes no
 *	overlap answers one of these, and fails while such an entry is held.
 * @unpin: undo one successful @pin. Called once per pin, with no lock of the
 *	cache's held, by whichever thread gets, puts, invalidates, flushes, reads the counts or destroys
 *	when an entry, any one, goes: none of these holds a lock that @unpin takes.
 * @word: NULL, or asked once after each pin: @reg is good while the word that
 *	is returned has *value. It must stay readable while the cache exists. A
 *	hit then costs one load more. NULL is returned where there is none.
 * @valid: NULL, or 1 while @reg is still good; called on each hit of what has
 *	no word: cheap. Without either the caller must pp_cache_invalidate()
 *	before memory is freed
 * @grow: NULL, or widen *addr and *length before a miss is registered. Return
 *	1: they are the whole allocation, and nothing beyond it may be
 *	registered with it; 0: they may be merged with entries they overlap;
 *	-errno: the get fails with it. When the widened range cannot be
 *	registered, the one that was asked for is tried.
 *
 * The callbacks must not call functions of the same cache: a get() may wait
 * for the very registration or unpin that it is called from. A thread is not
 * cancelled in them, but in @valid, which must be no cancellation point.
 */
struct pp_cache_ops {
	int (*pin)(void *arg, uint64_t addr, uint64_t length, void **reg,
		   struct pp_why *why);
	void (*unpin)(void *arg, void *reg);
	const uint32_t *(*word)(void *arg, void *reg, uint32_t *value);
	int (*valid)(void *arg, void *reg);
	int (*grow)(void *arg, uint64_t *addr, uint64_t *length);
};

/** enum pp_cache_watch - how a cache learns that memory was freed */
enum pp_cache_watch {
	/*
	 * Of /dev/peerpin EPOCH, with the hook in place of the tag where that is
	 * loaded and sees all frees; of dma-bufs HOOK where it does, else TAG.
	 */
	PP_WATCH_BEST,
	/*
	 * The revocation page: one load a hit. Of small allocations and pools, whose
	 * end revokes nothing, the tag is compared as well.
	 */
	PP_WATCH_EPOCH,
	/*
	 * libpeerpin-hook.so, which sees the frees of this process through the CUDA
	 * API before they happen: no CUDA call on a hit. It does not see host memory
	 * being unmapped; of /dev/peerpin, whose page is looked at too, that is seen.
	 */
	PP_WATCH_HOOK,
	/*
	 * CUDA's buffer id, compared on each hit: one CUDA call; of /dev/peerpin with
	 * the revocation page.
	 */
	PP_WATCH_TAG,
	/*
	 * Nothing: the caller calls pp_cache_invalidate() before memory is freed, and
	 * when a device answers -ESTALE.
	 */
	PP_WATCH_NONE,
};

/**
 * struct pp_cache_attr - limits; zero-initialise, then set what differs
 * @max_bytes: idle registered bytes are evicted above this; 0: no limit
 * @max_entries: likewise, entries; 0: no limit
 * @pin_flags: enum peerpin_pin_flags of the regions of pp_cache_create_ctx(). It
 *	takes 0 only and answers -EOPNOTSUPP else: a persistent pin is not revoked
 *	when its memory is freed, so that a get would find what is gone
 * @watch: enum pp_cache_watch; 0 (BEST) for pp_cache_create()
 */
struct pp_cache_attr {
	uint64_t max_bytes;
	uint64_t max_entries;
	uint32_t pin_flags;
	uint32_t watch;
};

enum {
	PP_CACHE_HISTOGRAM = 40,
};

/**
 * struct pp_cache_stats - counted since the cache was made, and now
 * @pin_histogram: pins that took from 2^i to 2^(i + 1) - 1 ns; in the last one
 *	also those that took longer
 */
struct pp_cache_stats {
	uint64_t hits;
	uint64_t misses;
	uint64_t evictions;
	uint64_t revocations;	/* entries found revoked */
	uint64_t pins;
	uint64_t unpins;
	uint64_t pin_ns;	/* time spent in pin callbacks */
	uint64_t entries;	/* now */
	uint64_t bytes;		/* now */
	uint64_t pin_histogram[PP_CACHE_HISTOGRAM];
};

/**
 * pp_cache_create - a cache over the caller's own register functions
 * @ops: copied; pin and unpin must be there, else -EINVAL
 * @arg: handed to them
 * @attr: NULL: no limits. -EINVAL with pin_flags or watch: how to pin, and when
 *	that is over, is @ops' business
 *
 * Other errors: -ENOMEM.
 */
int pp_cache_create(const struct pp_cache_ops *ops, void *arg,
		    const struct pp_cache_attr *attr, struct pp_cache **out);

/**
 * pp_cache_create_ctx - a cache of regions of /dev/peerpin; @ctx must outlive it
 *
 * Errors: -EOPNOTSUPP pin_flags, or HOOK where libpeerpin-hook.so is not loaded or
 * stands behind libcuda; -EINVAL no such watch; -ENOMEM.
 */
int pp_cache_create_ctx(struct pp_ctx *ctx, const struct pp_cache_attr *attr,
			struct pp_cache **out);

/**
 * struct pp_dmabuf - a dma-buf that the GPU's driver exports
 * @fd: its descriptor; a cache entry's is the cache's
 * @addr: first byte of it, a multiple of the system's page size
 * @length: bytes
 */
struct pp_dmabuf {
	int fd;
	uint64_t addr;
	uint64_t length;
};

/**
 * pp_dmabuf_export - have the GPU's driver make a dma-buf of memory of its
 * @addr: first byte, any alignment
 * @length: bytes, not 0; within one allocation
 * @out: filled in on success: the pages that hold the range; close() its
 *	descriptor when the importer has it
 * @why: NULL, or filled in on failure as by pp_pin()
 *
 * As pp_cache_create_dmabuf()'s gets do, but it is kept nowhere. The memory stays
 * while there is a descriptor or an importer, also after it is freed.
 *
 * Errors: -EOPNOTSUPP no GPU memory, CUDA cannot export dma-bufs or is not
 * loaded; -EINVAL managed memory, or past the end of an allocation; -ESTALE it
 * was freed meanwhile; -ENOMEM; -EMFILE too many descriptors; -EIO CUDA failed.
 */
int pp_dmabuf_export(const void *addr, size_t length, struct pp_dmabuf *out, struct pp_why *why);

/**
 * pp_cache_create_dmabuf - a cache of dma-bufs of GPU memory
 * @attr: BEST is HOOK where libpeerpin-hook.so sees all frees, else TAG
 *
 * cuMemGetHandleForAddressRange() makes them; no kernel module is needed. An
 * entry's @reg is a const struct pp_dmabuf *; the range that was asked for lies
 * at its address minus @addr. Hand the descriptor to ibv_reg_dmabuf_mr(), or
 * to any driver that imports dma-bufs; what that makes of it is the caller's to
 * end before the entry is unpinned: cache that in a cache of its own. Each
 * entry is a descriptor, so that a process with many allocations wants
 * @attr->max_entries below its RLIMIT_NOFILE.
 *
 * Gets of memory that is no GPU's answer -EOPNOTSUPP. Memory of a stream-ordered
 * pool must not be freed while it is being got: CUDA's driver (580.159) crashes
 * in cuMemGetHandleForAddressRange() then; nor may less than 2 MiB of any: pp_query().
 * Errors: -EOPNOTSUPP EPOCH or pin_flags, HOOK where libpeerpin-hook.so is not
 * loaded or stands behind libcuda, or CUDA cannot export dma-bufs or is not
 * loaded; -EINVAL no such watch; -ENOMEM.
 */
int pp_cache_create_dmabuf(const struct pp_cache_attr *attr, struct pp_cache **out);

/**
 * pp_cache_get - a registration that covers a range
 * @addr: first byte, any alignment
 * @length: bytes, not 0
 * @out: the entry; hold it while a peer uses it, then pp_cache_put() once
 * @why: NULL, or filled in on failure as by pp_pin()
 *
 * Never returns an entry whose memory was freed before the call began, unless
 * libpeerpin-hook.so is what tells, and it was freed past that (by a plugin of
 * RTLD_DEEPBIND, say): then only the revocation page does, and only where whole
 * blocks are freed. Programs with such plugins want PP_WATCH_EPOCH, of dma-bufs TAG.
 * What is freed afterwards is not kept from the caller: see pp_region_valid().
 *
 * What is there is found without a lock and without waiting. May call @unpin of
 * any entry: do not hold a lock that it takes.
 *
 * Errors: -EINVAL empty or overflowing range; -EACCES in a child of fork();
 * -ESTALE the memory was freed while it was being registered (or a huge page of
 * it split: call again once), or it was
 * registered but has been freed, and nobody owns the range now (said once: the
 * cache has forgotten it then, and the next get answers what pin does,
 * -EINVAL); -ENOMEM; what pin and grow answer.
 */
int pp_cache_get(struct pp_cache *cache, const void *addr, size_t length,
		 const struct pp_cache_entry **out, struct pp_why *why);

/**
 * pp_cache_put - done with an entry, got by any thread; it stays registered until evicted
 *
 * Takes no lock, unless it is the last put of what was invalidated, or the cache is
 * over its budget: then it may call @unpin of any entry. Do not hold a lock that
 * @unpin takes.
 */
void pp_cache_put(struct pp_cache *cache, const struct pp_cache_entry *entry);

/**
 * pp_cache_invalidate - forget what overlaps a range; an empty one overlaps nothing
 *
 * Entries in use go at their last put; one that another thread's look-up passes
 * by at that moment goes a moment later. All others are unpinned when this
 * returns, also those that another thread was about to unpin: so do not hold a
 * lock that @unpin takes. Inside of @pin and @unpin, of whatever cache, that is
 * not waited for: memory that they free may be told to this cache.
 */
void pp_cache_invalidate(struct pp_cache *cache, const void *addr, size_t length);

/** pp_cache_flush - unpin every idle entry; do not hold a lock that @unpin takes */
void pp_cache_flush(struct pp_cache *cache);

/** pp_cache_stats - what it has counted so far; pin_ns in nanoseconds. Do not hold a lock that @unpin takes */
void pp_cache_stats(struct pp_cache *cache, struct pp_cache_stats *out);

/**
 * pp_cache_destroy - unpin everything and free; NULL is fine
 *
 * No entry may be in use, and no lock held that @unpin takes. Not inside a
 * subscriber's call of libpeerpin-hook.so: others may be in progress, and use the
 * cache. In a child of fork() it does nothing: the entries are the parent's.
 */
void pp_cache_destroy(struct pp_cache *cache);

/* ---- peer devices (seed ch. 3, the Jetson article) --------------------- */

struct pp_peer;

/**
 * struct pp_copy_result - what a copy took
 * @bytes: copied
 * @engine_ns: time the device's engine ran
 * @total_ns: time of the whole call
 * @pins: registrations made for it (0: both ends were cached)
 * @pin_ns: time they took
 * @why: on failure of a registration, why
 */
struct pp_copy_result {
	uint64_t bytes;
	uint64_t engine_ns;
	uint64_t total_ns;
	uint32_t pins;
	uint64_t pin_ns;
	struct pp_why why;
};

/**
 * pp_peer_open - open a peer device that copies
 * @name: "lsi0" or a path
 * @cache: where registrations come from; must outlive the peer
 *
 * Return: 0; -ENOENT no such device; -EACCES; -ENOTTY not a peer device;
 * -ENODEV it is being removed; -EINVAL @cache was not made by
 * pp_cache_create_ctx(); what open() says else.
 */
int pp_peer_open(const char *name, struct pp_cache *cache, struct pp_peer **out);

/** pp_peer_close - NULL is fine; the cache stays the caller's */
void pp_peer_close(struct pp_peer *peer);

/**
 * pp_peer_copy - have the device copy between any two ranges of memory
 * @dst: GPU or host address
 * @src: GPU or host address
 * @length: bytes, not 0; the ranges must not overlap
 * @result: NULL, or what it took; filled in on failure too
 *
 * Registers both ends through the cache, then one ioctl. A registration that
 * is revoked while the copy is prepared is made again once; when the memory
 * itself is gone the copy fails. Errors: -ESTALE memory was freed before the
 * copy was done, *@dst undefined; those of pp_cache_get() and of
 * PEERPIN_LSI_IOC_COPY.
 *
 * Small GPU allocations, and those of a pool, revoke nothing when they are
 * freed (see pp_region_valid()). Freed before the call, they are noticed; freed
 * while it runs, they are not: the copy goes on to its end in their block,
 * whoever owns that by then. Do not free what is being copied.
 */
int pp_peer_copy(struct pp_peer *peer, void *dst, const void *src,
		 size_t length, struct pp_copy_result *result);

/* ---- storage: files and memory (seed ch. 1: third-party devices) ---- */

/**
 * struct pp_view - GPU memory as the CPU sees it; what the entries of a cache of views have as @reg
 * @at: where it is mapped
 * @addr: its first byte in GPU memory, a multiple of the system's page size
 * @length: bytes
 */
struct pp_view {
	void *at;
	uint64_t addr;
	uint64_t length;
};

/**
 * pp_cache_create_view - a cache of mappings of GPU memory for the CPU
 * @attr: NULL: no limits. -EOPNOTSUPP with pin_flags or watch
 *
 * The GPU's driver makes them, by mmap() of its dma-bufs; no kernel module is
 * needed. Where it makes them of p2pdma pages, direct I/O and io_uring take
 * addresses in a view, and the disk's own DMA goes to the GPU; io_uring's
 * registered buffers do not. While an entry is held the memory stays, also when it
 * is freed; an idle one is given up when libpeerpin-hook.so sees the free, else at
 * the next get. Write it in order: it is write-combined. A child of fork() has none.
 *
 * Gets answer -ENODEV where the driver cannot map its dma-bufs, else what gets of
 * pp_cache_create_dmabuf() do; but -EMFILE makes no view go, as a view is no
 * descriptor. Errors: -ENOMEM.
 */
int pp_cache_create_view(const struct pp_cache_attr *attr, struct pp_cache **out);

struct pp_file;

/** enum pp_file_reason - why bytes went through host memory */
enum pp_file_reason {
	PP_FILE_ALL_DIRECT,	/* none did */
	PP_FILE_EDGES,		/* the range does not begin and end with blocks of the file */
	PP_FILE_UNALIGNED,	/* address and offset are aligned differently */
	PP_FILE_NO_DIRECT_IO,	/* the file takes none, or does not say how (statx) */
	PP_FILE_NO_CACHE,	/* it was opened without views */
	PP_FILE_NO_EXPORT,	/* the driver exports no dma-buf of the memory */
	PP_FILE_NO_VIEW,	/* the driver cannot map it */
	PP_FILE_NO_PAGES,	/* it can, but not with pages that a disk may be given */
	PP_FILE_NO_WAY,		/* the disk's driver refused them */
};

/**
 * struct pp_file_result - how bytes were moved
 * @direct: bytes between disk and memory by the disk's DMA
 * @bounced: bytes through other host memory
 * @reason: enum pp_file_reason of the first of these
 * @error: what was answered where the reason is that something was refused, or 0
 * @total_ns: time of the whole call
 */
struct pp_file_result {
	uint64_t direct;
	uint64_t bounced;
	uint32_t reason;
	int error;
	uint64_t total_ns;
};

/**
 * pp_file_open - prepare a file for pp_file_read() and pp_file_write()
 * @fd: a regular file or a block device, without O_APPEND; stays the caller's.
 *	pp_file_close() drops locks of fcntl(F_SETLK) that the process has on it
 * @views: NULL, or from pp_cache_create_view(), and must outlive the file
 *
 * Errors: -EINVAL no such file or cache; -ENOMEM; what dup() and open() say.
 */
int pp_file_open(int fd, struct pp_cache *views, struct pp_file **out);

/** pp_file_close - NULL is fine; the descriptor of pp_file_open() stays open */
void pp_file_close(struct pp_file *file);

/**
 * pp_file_read - from a file into any memory
 * @dst: GPU or host address, any alignment
 * @length: bytes; within one allocation of a GPU's
 * @offset: in the file
 * @result: NULL, or how it was done; filled in on failure too
 *
 * Whole blocks go from the disk to the GPU where that is possible, else through host
 * memory, and so does the rest. Returns when all is there: work on the GPU that is
 * started afterwards sees it. For work on @dst that was started before, the caller
 * waits. Fewer bytes than @length when the file ends. Of host memory, as an
 * integrated GPU's is, what is not direct goes through the page cache.
 *
 * Return: 0; -EINVAL past the end of an allocation, or no such offset; -EFAULT neither
 * GPU nor host memory, as when it was freed before; -EIO the disk failed; -ENODEV it was
 * removed, or CUDA gives the thread no context; -ESTALE the memory was freed meanwhile;
 * -EACCES in a child of fork(); what pread() says else.
 */
int pp_file_read(struct pp_file *file, void *dst, size_t length, uint64_t offset,
		 struct pp_file_result *result);

/**
 * pp_file_write - from any memory into a file
 *
 * Likewise; the caller has waited for what the GPU has to write there, with
 * cuStreamSynchronize() or cuCtxSynchronize(): nobody else does, and cuMemsetD8()
 * may return before it is done. fsync() is left to the caller. Errors besides:
 * -ENOSPC, with what fitted in @result; -EBADF the file is open for reading.
 */
int pp_file_write(struct pp_file *file, const void *src, size_t length, uint64_t offset,
		  struct pp_file_result *result);

/** pp_file_strreason - one sentence for an enum pp_file_reason; never NULL */
const char *pp_file_strreason(uint32_t reason);

/* ---- BAR1 (seed 12.1) --------------------------------------------------- */

/**
 * struct pp_bar1 - one GPU's BAR1 aperture as its vendor reports it
 * @name: product
 * @uuid: as text
 * @pci: PCI address as in /sys/bus/pci/devices
 */
struct pp_bar1 {
	char name[96];
	char uuid[48];
	char pci[32];
	uint64_t total;
	uint64_t used;
	uint64_t free;
};

/**
 * pp_bar1 - ask the vendor's management library (NVML, loaded when needed)
 * @index: GPU number, from 0
 *
 * Return: 0; -ENODEV no GPU of that number, or no GPU driver; -ENOENT no NVML
 * on this machine; -EOPNOTSUPP the GPU is integrated and has no BAR1; -EIO NVML
 * failed.
 */
int pp_bar1(unsigned int index, struct pp_bar1 *out);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: MIT */
/*
 * libpeerpin: the userspace communication library of GPUDirect RDMA.
 *
 * Return values
 *	A function that returns int returns 0 or a negative errno, unless its comment
 *	says otherwise. No function changes errno, prints or exits.
 *
 * Units
 *	Sizes and offsets are in bytes, times in nanoseconds.
 *
 * Threads
 *	Any thread may call any function, and several threads may use one object at the
 *	same time. pp_close(), pp_cache_destroy(), pp_peer_close() and pp_file_close()
 *	must be the last call on their object. No function is a cancellation point. No
 *	function may be called in a signal handler.
 *
 * fork()
 *	An object belongs to the process that made it. In a child of fork(), calls on an
 *	object of the parent return -EACCES. pp_close(), pp_peer_close() and
 *	pp_file_close() close the child's descriptors there and leave the parent's
 *	object as it is. Cache functions that return void do nothing there, except
 *	pp_cache_stats(), which reports zeros.
 *
 * Descriptors
 *	Descriptors that the library keeps or hands out are never 0, 1 or 2.
 *
 * Small and pooled GPU allocations
 *	CUDA allocates GPU memory in blocks of 2 MiB. A small allocation, which does not
 *	consist of whole blocks, shares a block with others. A pooled allocation returns
 *	to its stream-ordered pool when it is freed. Freeing either kind frees no block,
 *	so no pin is revoked. A device that still uses such a pin reaches whatever the
 *	block holds next.
 *
 * Crash in CUDA's driver (580.159)
 *	The driver crashes the process when one thread frees GPU memory of less than
 *	2 MiB while another thread asks CUDA about that memory. Do not free such memory
 *	during a call that asks CUDA about it. These calls ask: pp_query(),
 *	pp_sync_memops(), pins and exports, pp_file_read() and pp_file_write(), each get
 *	that misses, and each get that compares CUDA's buffer id (enum pp_cache_watch).
 *
 * "guide N" in this file means the NVIDIA GPUDirect RDMA guide, section N ("Developing
 * a Linux Kernel Module using GPUDirect RDMA", release 12.9). The Jetson article is
 * NVIDIA's "GPUDirect RDMA on NVIDIA Jetson AGX Xavier".
 */
#ifndef LIBPEERPIN_H
#define LIBPEERPIN_H

#include <stddef.h>
#include <stdint.h>

#define PP_VERSION "1.0.0"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- query: what memory is it (guide 13.1, 13.2) ----------------------- */

enum pp_mem_kind {
	PP_MEM_HOST,		/* host memory, and each address that CUDA does not know */
	PP_MEM_GPU,
	PP_MEM_MANAGED,		/* migrates: must not be pinned (guide 4) */
};

/**
 * struct pp_mem - what pp_query() found out about an address
 * @kind: host, GPU or managed memory
 * @device: CUDA ordinal of the GPU; -1 for host memory
 * @base: first byte of the allocation; 0 for host memory. Of memory that the program
 *	maps itself (cuMemMap()): first byte of the mapping
 * @size: bytes of the allocation or mapping; 0 for host memory
 * @buffer_id: CUDA's id of the allocation, which is never reused; 0 for host memory
 * @rdma: 1: CUDA allows devices to access the memory. 0 for host memory, and for GPU
 *	memory allocated without that property (cuMemCreate() and pools, unless the
 *	program asked for it)
 * @pooled: 1: allocated from a stream-ordered pool, which may keep freed memory
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
 * pp_query - find out what memory an address belongs to
 * @addr: any address; it need not be mapped
 * @out: filled in on success
 *
 * Makes one CUDA call, cuPointerGetAttributes(); up to three if the driver does not
 * know the newer attributes. Never loads libcuda: while the process has not loaded
 * CUDA, there is no CUDA call and every address is PP_MEM_HOST.
 *
 * A freed GPU address is PP_MEM_HOST, because CUDA no longer knows it. While CUDA
 * itself fails, for example after a fault on the GPU, every address is PP_MEM_HOST.
 *
 * Return: 0; -EINVAL @out is NULL.
 */
int pp_query(const void *addr, struct pp_mem *out);

/**
 * pp_sync_memops - make CUDA's copies on an allocation synchronous
 * @addr: address inside a GPU allocation
 *
 * Sets CU_POINTER_ATTRIBUTE_SYNC_MEMOPS (guide 11.7). Call it once per allocation before
 * a peer first accesses the memory; without it the peer may read stale data. pp_pin()
 * does not set it. pp_dmabuf_export() sets it, and so does a get that misses in a cache of
 * pp_cache_create_ctx(), pp_cache_create_dmabuf() or pp_cache_create_view(). The caller
 * waits for copies that started before this call, and for copies by CUDA's Async functions.
 *
 * Return: 0; -EINVAL not GPU memory; -EOPNOTSUPP the program maps the memory itself
 * (cuMemMap()) and CUDA has no such mode for it: wait for its copies before you start a
 * peer.
 */
int pp_sync_memops(const void *addr);

/* ---- context and region ------------------------------------------------ */

struct pp_ctx;

/**
 * struct pp_region - pinned memory; read-only for the caller
 * @addr: first byte: the requested address, rounded down to @page_size. Of a dma-buf: the
 *	requested offset
 * @length: bytes, a multiple of @page_size
 * @page_size: granularity of the provider
 * @id: region id, for ioctls of peer drivers together with pp_fd()
 * @slot: index of the region's word in the revocation page
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
 * @reason: enum peerpin_reason; 0: unknown
 * @needed: bytes that @reason is about, or 0
 * @available: bytes that were available of the resource in @reason; 0 also if unknown
 */
struct pp_why {
	uint32_t reason;
	uint64_t needed;
	uint64_t available;
};

/**
 * pp_open - open /dev/peerpin and map its revocation page
 * @out: the context, set on success; close it with pp_close()
 *
 * Return: 0; -ENOENT the module is not loaded; -EACCES no permission; -ENOMEM; other
 * errors of open() and mmap().
 */
int pp_open(struct pp_ctx **out);

/**
 * pp_close - unpin all regions that were pinned through @ctx, and free @ctx
 * @ctx: from pp_open(), or NULL
 *
 * Unpins even if a child of fork() holds the file open. Called in the child, it closes
 * the child's descriptor and unpins nothing.
 *
 * It does not unpin regions made by the caller's own ioctls on pp_fd(). Those end when
 * the file is released: after its last descriptor and its last CPU mapping. They also end
 * when the process that opened the file exits.
 */
void pp_close(struct pp_ctx *ctx);

/** pp_fd - return the descriptor to pass to a peer driver; it belongs to @ctx */
int pp_fd(const struct pp_ctx *ctx);

/**
 * pp_pin - pin GPU memory of this process, or host memory that the process may write
 * @ctx: from pp_open()
 * @addr: first byte, any alignment
 * @length: bytes, not 0
 * @out: filled in on success; pass it to pp_unpin() once
 * @why: NULL, or filled in on failure (reason 0: unknown)
 *
 * Implements guide 12.2, except for SYNC_MEMOPS: see pp_sync_memops(). If CUDA knows
 * @addr, CUDA decides whether it is GPU or host memory. If BAR1 space runs out, the
 * library asks NVML how much is free, which is slow.
 *
 * Return: 0; -EINVAL also for managed memory; -EACCES in a child of fork(); other errors
 * of PEERPIN_IOC_PIN (peerpin(4)).
 */
int pp_pin(struct pp_ctx *ctx, const void *addr, size_t length,
	   struct pp_region *out, struct pp_why *why);

/**
 * pp_pin_with - pp_pin() with flags
 * @flags: enum peerpin_pin_flags
 *
 * PEERPIN_PIN_PERSISTENT makes a non-revocable pin of GPU memory. Freeing the memory does
 * not revoke the region, and the GPU's driver does not reuse the memory until it is
 * unpinned. So pp_region_valid() stays 1 after the memory was freed. The region is
 * revoked only if the GPU is removed or its driver is unbound.
 *
 * Return: as pp_pin(); also -EINVAL persistent, but not GPU memory; -EOPNOTSUPP unknown
 * flag, or the GPU's driver has no persistent pins.
 */
int pp_pin_with(struct pp_ctx *ctx, const void *addr, size_t length,
		uint32_t flags, struct pp_region *out, struct pp_why *why);

/**
 * pp_pin_dmabuf - pin a range of a dma-buf of any driver
 * @ctx: from pp_open()
 * @fd: the dma-buf; the caller may close it afterwards
 * @offset: first byte in the dma-buf, a multiple of the system's page size
 * @length: bytes, a multiple of the system's page size, not 0
 * @out: filled in on success, with @offset as its addr; pass it to pp_unpin() once
 * @why: NULL, or filled in on failure
 *
 * If the exporter takes its memory back while a device is attached to the region, the
 * region is revoked. If no device is attached then, the next driver that attaches the
 * region gets an error.
 *
 * Return: 0; -EBADF @fd is not a dma-buf; -EINVAL the range is not a range of pages within
 * the dma-buf; -EACCES in a child of fork(); other errors of PEERPIN_IOC_PIN.
 */
int pp_pin_dmabuf(struct pp_ctx *ctx, int fd, uint64_t offset, uint64_t length,
		  struct pp_region *out, struct pp_why *why);

/**
 * pp_unpin - unpin a region, revoked or not (guide 12.3)
 *
 * Waits for DMA in flight, for at most drain_timeout_ms (peerpin(4)). If DMA exceeds that,
 * the memory stays pinned until the DMA ends. If the region is of a dma-buf, the call also
 * waits, without a limit, until the exporter has unmapped.
 *
 * Call it once for each region: the kernel reuses region ids, so a second call may unpin
 * another region.
 *
 * Return: 0; -ENOENT no such region; -EACCES in a child of fork().
 */
int pp_unpin(struct pp_ctx *ctx, const struct pp_region *region);

/**
 * pp_region_valid - check that a region has not been revoked since it was pinned
 *
 * Costs two loads: one of the process's fork mark, and one (acquire) of the revocation
 * page. The kernel changes the word before the freeing call returns. Splitting a huge page
 * revokes regions in it too, although the memory is still there: pin it again.
 *
 * Freeing a small or pooled GPU allocation revokes nothing (see the top of this file), so
 * the result stays 1. For such memory compare @buffer_id of pp_query(), or use a cache,
 * which does so in its gets.
 *
 * Return: 1 valid; 0 revoked or unpinned, or @ctx belongs to the parent process.
 */
int pp_region_valid(const struct pp_ctx *ctx, const struct pp_region *region);

/**
 * pp_region_map - map a region for the CPU
 * @offset: bytes from the region's @addr, a multiple of the system's page size
 * @length: bytes, not 0, rounded up to the page size; must end within the region
 * @prot: PROT_READ, or PROT_READ | PROT_WRITE, of <sys/mman.h>
 * @out: address of the CPU mapping, set on success
 *
 * On most machines GPU memory is mapped write-combined: write in order and in whole cache
 * lines, and read as little as possible.
 *
 * The CPU mapping keeps the context's file open, but not the region. After the region is
 * revoked or unpinned, the next access is a SIGBUS. A child of fork() does not inherit the
 * mapping. mprotect() and mremap() work on it, but it cannot grow.
 *
 * Return: 0; -EINVAL unaligned, empty, or not within the region; -ESTALE the region is
 * revoked or unpinned; -EOPNOTSUPP the CPU cannot map this memory; -ENOMEM; -EACCES in a
 * child of fork(); other errors of mmap().
 */
int pp_region_map(struct pp_ctx *ctx, const struct pp_region *region,
		  uint64_t offset, size_t length, int prot, void **out);

/**
 * pp_region_unmap - remove a CPU mapping, or a part of it
 * @view: first byte to unmap, page-aligned
 * @length: bytes, not 0
 *
 * May be called before or after the region has ended.
 *
 * Return: 0; -EINVAL @view is unaligned, or @length is 0; -ENOMEM the process has too many
 * mappings to split this one in two; -EACCES in a child of fork().
 */
int pp_region_unmap(struct pp_ctx *ctx, void *view, size_t length);

/**
 * pp_region_export - make a dma-buf of a part of a region
 * @offset: bytes from the region's @addr, a multiple of the system's page size
 * @length: bytes, a multiple of the system's page size, not 0; must end within the region
 * @out: the descriptor, close-on-exec, set on success; the caller closes it once the
 *	importer has it
 *
 * For drivers that do not support peerpin, for example by ibv_reg_dmabuf_mr(). The
 * dma-buf holds no reference on the region or the context. When the region ends,
 * importers get an invalidation (move_notify) and lose their mappings. Exception: host
 * memory and persistent pins stay pinned for an importer that does not support
 * invalidation, has pinned the dma-buf or is late, until that importer unmaps.
 * peerpin(4) says which importers are refused.
 *
 * Return: 0; -EINVAL unaligned, empty, or not within the region; -ESTALE the region is
 * revoked or unpinned; -EOPNOTSUPP the region is itself of a dma-buf: pass that one on;
 * -EDQUOT the region has 1024 dma-bufs and importers of them; -EMFILE, -ENFILE, -ENOMEM;
 * -EACCES in a child of fork().
 */
int pp_region_export(struct pp_ctx *ctx, const struct pp_region *region,
		     uint64_t offset, uint64_t length, int *out);

/** pp_strreason - return a sentence for an enum peerpin_reason; never NULL */
const char *pp_strreason(uint32_t reason);

/**
 * pp_explain - write one sentence, with numbers, about a pin that failed
 * @out: buffer, always terminated; NULL if @room is 0
 * @room: bytes in @out; a longer sentence is truncated
 * @error: what the pin returned
 * @why: NULL, or what the pin filled in
 *
 * "the GPU's BAR1 aperture has no room for it: 64.0 MiB needed, 12.0 MiB free"
 *
 * Return: length of the whole sentence, truncated or not, as snprintf().
 */
int pp_explain(char *out, size_t room, int error, const struct pp_why *why);

/* ---- registration cache (guide 11.1, 11.2, 12.5) ----------------------- */

struct pp_cache;

/**
 * struct pp_cache_entry - a cached registration; read-only for the caller
 * @addr: first byte of the registered range
 * @length: bytes
 * @reg: what the pin callback stored. pp_cache_create_ctx(): struct pp_region *;
 *	pp_cache_create_dmabuf(): const struct pp_dmabuf *; pp_cache_create_view():
 *	const struct pp_view *
 */
struct pp_cache_entry {
	uint64_t addr;
	uint64_t length;
	void *reg;
};

/**
 * struct pp_cache_ops - how a cache registers ranges
 * @pin: register [addr, addr + length). Set *reg on success. On failure it may fill in
 *	*why, which is never NULL. The cache holds no lock.
 *	On -ENOMEM, -ENOSPC, -EDQUOT or -EMFILE the cache evicts idle entries and calls
 *	@pin again. It evicts entries that overlap the range first, then the least
 *	recently used.
 *	An older entry that the range replaces is unpinned after @pin succeeds. A @pin
 *	that cannot register overlapping ranges returns one of these errors, so that the
 *	cache unpins the older entry first. The get fails while that entry is in use.
 * @unpin: undo one successful @pin; called once for each. The cache holds no lock. The
 *	thread may be in any get, put, invalidation, flush, pp_cache_stats() or
 *	pp_cache_destroy() of this cache, and the entry may be any. So these callers
 *	must not hold a lock that @unpin takes.
 * @word: NULL, or called once after each @pin: returns a word and sets *value. @reg is
 *	valid while the word equals *value. The word must stay readable as long as the
 *	cache exists. It adds one load (acquire) to a hit. Returns NULL if @reg has no
 *	word.
 * @valid: NULL, or returns 1 while @reg is valid. Called on each hit of an entry
 *	without a word, so it must be cheap. Without @word and @valid the caller must
 *	call pp_cache_invalidate() before memory is freed.
 * @grow: NULL, or widens *addr and *length before a miss is registered. Returns 1 if the
 *	result is a whole allocation, beyond which nothing may be registered with it.
 *	Returns 0 if the cache may merge the result with entries that overlap it. Returns
 *	-errno to fail the get. If the widened or merged range cannot be registered, the
 *	cache tries again: with the range of the get after 1, with the result of @grow
 *	after 0.
 *
 * Callbacks must not call functions of the same cache, because a get may be waiting for
 * this @pin or @unpin. Only pp_cache_invalidate() may be called, in @pin and @unpin.
 * Thread cancellation is disabled in all callbacks but @valid, which must not be a
 * cancellation point.
 */
struct pp_cache_ops {
	int (*pin)(void *arg, uint64_t addr, uint64_t length, void **reg,
		   struct pp_why *why);
	void (*unpin)(void *arg, void *reg);
	const uint32_t *(*word)(void *arg, void *reg, uint32_t *value);
	int (*valid)(void *arg, void *reg);
	int (*grow)(void *arg, uint64_t *addr, uint64_t *length);
};

/**
 * enum pp_cache_watch - how a cache learns that memory was freed
 *
 * "Regions" stands for a cache of pp_cache_create_ctx(), "dma-bufs" for one of
 * pp_cache_create_dmabuf().
 */
enum pp_cache_watch {
	/*
	 * Regions: EPOCH; but if libpeerpin-hook.so is loaded and sees all frees, HOOK.
	 * Dma-bufs: HOOK if it is loaded and sees all frees, else TAG.
	 */
	PP_WATCH_BEST,
	/*
	 * The revocation page: one load on each hit. The free of a small or
	 * pooled GPU allocation revokes nothing, so there each hit also compares the buffer id.
	 * Regions only.
	 */
	PP_WATCH_EPOCH,
	/*
	 * libpeerpin-hook.so, which calls the cache before this process frees memory
	 * through the CUDA API. A hit makes no CUDA call. The hook does not see munmap()
	 * of host memory. Regions: each hit also checks the revocation page, which
	 * detects munmap().
	 */
	PP_WATCH_HOOK,
	/*
	 * CUDA's buffer id (guide 12.5): each hit compares it, by one CUDA call.
	 * Regions: each hit also checks the revocation page.
	 */
	PP_WATCH_TAG,
	/*
	 * Nothing. The caller calls pp_cache_invalidate() before memory is freed, and
	 * when a device returns -ESTALE.
	 */
	PP_WATCH_NONE,
};

/**
 * struct pp_cache_attr - limits; zero-initialise, then set what differs
 * @max_bytes: idle entries are evicted while more bytes than this are registered; 0: no
 *	limit
 * @max_entries: idle entries are evicted while there are more entries than this; 0: no
 *	limit
 * @pin_flags: must be 0, else pp_cache_create() returns -EINVAL and all other functions
 *	that create a cache return -EOPNOTSUPP. Freeing memory does not revoke a
 *	persistent pin, so a get would return freed memory
 * @watch: enum pp_cache_watch, for pp_cache_create_ctx() and pp_cache_create_dmabuf(); 0
 *	for all others
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
 * struct pp_cache_stats - counts since the cache was created, and current totals
 * @hits: gets that found an entry
 * @misses: gets that registered, or tried to
 * @evictions: idle entries that were unpinned for the limits or to make room
 * @revocations: entries that a get found stale
 * @pins: registrations made
 * @unpins: registrations ended
 * @pin_ns: time in pin callbacks, failed calls included
 * @entries: entries now
 * @bytes: bytes of the entries now
 * @pin_histogram: element i counts registrations that took 2^i to 2^(i + 1) - 1 ns; the
 *	last element also counts all that took longer
 */
struct pp_cache_stats {
	uint64_t hits;
	uint64_t misses;
	uint64_t evictions;
	uint64_t revocations;
	uint64_t pins;
	uint64_t unpins;
	uint64_t pin_ns;
	uint64_t entries;
	uint64_t bytes;
	uint64_t pin_histogram[PP_CACHE_HISTOGRAM];
};

/**
 * pp_cache_create - create a cache that registers by the caller's functions
 * @ops: copied; @pin and @unpin must not be NULL
 * @arg: passed to @ops
 * @attr: NULL: no limits. pin_flags and watch must be 0, because @ops decides how to pin
 *	and when a registration is stale
 * @out: set on success
 *
 * Return: 0; -EINVAL a missing callback, pin_flags or watch; -ENOMEM.
 */
int pp_cache_create(const struct pp_cache_ops *ops, void *arg,
		    const struct pp_cache_attr *attr, struct pp_cache **out);

/**
 * pp_cache_create_ctx - create a cache of regions of /dev/peerpin
 * @ctx: must outlive the cache
 * @attr: NULL: no limits, PP_WATCH_BEST
 * @out: set on success
 *
 * Registers whole GPU allocations where they fit, and whole pages of host memory. Gets of
 * GPU memory whose @rdma is 0 return -EINVAL.
 *
 * Return: 0; -EOPNOTSUPP pin_flags, or PP_WATCH_HOOK while libpeerpin-hook.so is not
 * loaded or misses calls (pp_hook_add()); -EINVAL no such watch; -EACCES @ctx belongs to
 * the parent process; -ENOMEM.
 */
int pp_cache_create_ctx(struct pp_ctx *ctx, const struct pp_cache_attr *attr,
			struct pp_cache **out);

/**
 * struct pp_dmabuf - a dma-buf that the GPU's driver exports
 * @fd: descriptor. That of a cache entry belongs to the cache: do not close it
 * @addr: address of the dma-buf's first byte, a multiple of the system's page size
 * @length: bytes
 */
struct pp_dmabuf {
	int fd;
	uint64_t addr;
	uint64_t length;
};

/**
 * pp_dmabuf_export - export GPU memory as a dma-buf, by the GPU's driver
 * @addr: first byte, any alignment
 * @length: bytes, not 0; within one allocation
 * @out: filled in on success, with the pages that hold the range; the caller closes the
 *	descriptor once the importer has it
 * @why: NULL, or filled in on failure as by pp_pin()
 *
 * Makes the same dma-bufs as pp_cache_create_dmabuf(), but caches nothing. The dma-buf
 * keeps the memory, even if it is freed, while it has a descriptor or an importer.
 *
 * Return: 0; -EOPNOTSUPP not GPU memory, or CUDA is not loaded or cannot export dma-bufs;
 * -EINVAL empty, managed memory, or past the end of an allocation; -ESTALE the memory was
 * freed during the call; -ENOMEM; -EMFILE too many descriptors; -EIO CUDA failed.
 */
int pp_dmabuf_export(const void *addr, size_t length, struct pp_dmabuf *out, struct pp_why *why);

/**
 * pp_cache_create_dmabuf - create a cache of dma-bufs of GPU memory
 * @attr: NULL: no limits, PP_WATCH_BEST
 * @out: set on success
 *
 * CUDA makes the dma-bufs (cuMemGetHandleForAddressRange()); no kernel module is needed.
 * An entry's @reg is a const struct pp_dmabuf *. A range of a get begins at its address
 * minus @addr in the dma-buf. Pass the descriptor to ibv_reg_dmabuf_mr(), or to any other
 * importer.
 *
 * The cache does not know what an importer makes of the descriptor, a memory region for
 * example. The caller ends that before the entry is unpinned, so at the latest before
 * pp_cache_put(). To reuse it, keep it in a second cache (pp_cache_create()).
 *
 * Each entry holds a descriptor. A process with many allocations sets @attr->max_entries
 * below its RLIMIT_NOFILE. A child of fork() inherits the descriptors, which keep freed
 * memory until the child calls exec() or exits.
 *
 * Do not free pooled memory while a get exports it: CUDA's driver (580.159) crashes in
 * cuMemGetHandleForAddressRange().
 *
 * Gets return -EOPNOTSUPP for memory that is not GPU memory, else the errors of
 * pp_dmabuf_export().
 *
 * Return: 0; -EOPNOTSUPP pin_flags; PP_WATCH_EPOCH; PP_WATCH_HOOK while libpeerpin-hook.so
 * is not loaded or misses calls (pp_hook_add()); CUDA is not loaded or cannot export
 * dma-bufs; -EINVAL no such watch; -ENOMEM.
 */
int pp_cache_create_dmabuf(const struct pp_cache_attr *attr, struct pp_cache **out);

/**
 * pp_cache_get - get a registration that covers a range
 * @addr: first byte, any alignment
 * @length: bytes, not 0
 * @out: the entry, set on success. Call pp_cache_put() once for each get, when no peer uses
 *	the entry any more
 * @why: NULL, or filled in on failure as by pp_pin()
 *
 * A hit takes no lock and does not wait. Any get may call @unpin of any entry: do not hold
 * a lock that @unpin takes.
 *
 * Memory that was freed before the call began is never returned, with two exceptions:
 * - PP_WATCH_NONE, or @ops without @word and @valid: the cache learns of a free only by
 *   pp_cache_invalidate().
 * - PP_WATCH_HOOK, or PP_WATCH_BEST if it uses the hook: a free may bypass the hook, for
 *   example in a plugin loaded with RTLD_DEEPBIND. Then a cache of regions notices only
 *   that whole blocks were freed, by the revocation page; other caches do not notice. A
 *   program with such plugins uses PP_WATCH_EPOCH, and for dma-bufs PP_WATCH_TAG.
 * The program may still free the memory of an entry in use: see pp_region_valid().
 *
 * Return: 0; -EINVAL the range is empty or overflows; -EACCES in a child of fork();
 * -ENOMEM; errors of @pin and @grow; and -ESTALE in two cases:
 * - The memory was freed, or a huge page of it was split, during registration: call again
 *   once.
 * - The range was registered, its memory was freed, and @pin finds no memory there now
 *   (-EINVAL). The cache reports this once; the next get returns -EINVAL.
 */
int pp_cache_get(struct pp_cache *cache, const void *addr, size_t length,
		 const struct pp_cache_entry **out, struct pp_why *why);

/**
 * pp_cache_put - drop the reference of one get; any thread may do it
 *
 * The entry stays registered until it is evicted or invalidated. Takes no lock, except for
 * the last put of an invalidated entry and while the cache is over its limits. In these
 * cases it may call @unpin of any entry, so do not hold a lock that @unpin takes.
 */
void pp_cache_put(struct pp_cache *cache, const struct pp_cache_entry *entry);

/**
 * pp_cache_invalidate - remove all entries that overlap a range
 * @addr: first byte
 * @length: bytes; 0: no entry is removed
 *
 * Removes entries from look-up at once. When it returns, idle entries are unpinned, also
 * those that another thread was already unpinning. An entry in use is unpinned by its last
 * put. An idle entry that another thread's look-up happens to test at this moment is
 * unpinned a moment later. A registration in progress serves only the get that makes it.
 *
 * Do not hold a lock that @unpin takes. Inside @pin and @unpin of any cache this function
 * does not wait for unpins of other threads, so these callbacks may call it for memory that
 * they free.
 */
void pp_cache_invalidate(struct pp_cache *cache, const void *addr, size_t length);

/** pp_cache_flush - unpin all idle entries; do not hold a lock that @unpin takes */
void pp_cache_flush(struct pp_cache *cache);

/** pp_cache_stats - read the counters; do not hold a lock that @unpin takes */
void pp_cache_stats(struct pp_cache *cache, struct pp_cache_stats *out);

/**
 * pp_cache_destroy - unpin all entries and free the cache
 * @cache: may be NULL
 *
 * No entry may be in use, and the caller must not hold a lock that @unpin takes. Do not
 * call it in a subscriber of libpeerpin-hook.so: the hook may be calling this cache in other
 * threads. In a child of fork() it does nothing, because the entries are the parent's.
 */
void pp_cache_destroy(struct pp_cache *cache);

/* ---- peer devices (guide 3, the Jetson article) ------------------------ */

struct pp_peer;

/**
 * struct pp_copy_result - result of pp_peer_copy()
 * @bytes: bytes copied
 * @engine_ns: time the device's engine ran
 * @total_ns: time of the whole call
 * @pins: registrations made for this copy; 0: both ends were cached
 * @pin_ns: time spent registering, failed attempts included
 * @why: if a registration failed, why
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
 * @name: "lsi0", or a path
 * @cache: provides registrations; from pp_cache_create_ctx(), must outlive the peer
 * @out: set on success; close it with pp_peer_close()
 *
 * Return: 0; -ENOENT no such device; -EACCES no permission, or @cache belongs to the parent
 * process; -ENOTTY not a peer device; -ENODEV the device is being removed; -EINVAL @cache
 * is not from pp_cache_create_ctx(); -ENOMEM; other errors of open().
 */
int pp_peer_open(const char *name, struct pp_cache *cache, struct pp_peer **out);

/** pp_peer_close - close a peer, which may be NULL; the cache stays open */
void pp_peer_close(struct pp_peer *peer);

/**
 * pp_peer_copy - copy between two ranges of memory by the device
 * @dst: GPU or host address
 * @src: GPU or host address
 * @length: bytes, not 0; the ranges must not overlap
 * @result: NULL, or filled in; on failure too
 *
 * Gets both ends from the cache, then makes one ioctl. If a registration is revoked
 * meanwhile, it registers again and copies again, once. If the memory itself was freed, the
 * copy fails.
 *
 * Do not free memory during a copy. Freeing a small or pooled GPU allocation (see the top
 * of this file) before the call is noticed, but during the call it is not: the copy goes on
 * to its end, in a block that may have another owner by then.
 *
 * Return: 0; -ESTALE memory was freed before the copy ended, and the data at @dst is
 * undefined; -EINVAL also if the ranges overlap; -EACCES in a child of fork(); other errors
 * of pp_cache_get() and PEERPIN_LSI_IOC_COPY.
 */
int pp_peer_copy(struct pp_peer *peer, void *dst, const void *src,
		 size_t length, struct pp_copy_result *result);

/* ---- storage: files and memory (guide, introduction: storage adapters) -- */

/**
 * struct pp_view - a CPU mapping of GPU memory; @reg of an entry of a cache of views
 * @at: CPU address of the mapping
 * @addr: GPU address of its first byte, a multiple of the system's page size
 * @length: bytes
 */
struct pp_view {
	void *at;
	uint64_t addr;
	uint64_t length;
};

/**
 * pp_cache_create_view - create a cache of views: CPU mappings of GPU memory
 * @attr: NULL: no limits. pin_flags and watch must be 0
 * @out: set on success
 *
 * The GPU's driver makes the mappings, by mmap() of its dma-bufs; no kernel module is
 * needed. If the driver maps p2pdma pages, direct I/O and io_uring accept addresses in a
 * view, and the disk's own DMA reaches the GPU. io_uring's registered buffers do not accept
 * them. A view is write-combined: write it in order. A child of fork() does not inherit
 * views.
 *
 * An entry keeps its memory, even if the memory is freed. If libpeerpin-hook.so is loaded,
 * an idle entry is unmapped before the free that the hook sees. Without the hook each hit
 * compares the buffer id, so the entry is unmapped at the next get of its address.
 *
 * Gets return -ENODEV if the driver cannot map its dma-bufs, else the errors of
 * pp_cache_create_dmabuf()'s gets. -EMFILE evicts nothing here, because a view holds no
 * descriptor.
 *
 * Return: 0; -EOPNOTSUPP pin_flags or watch; -ENOMEM.
 */
int pp_cache_create_view(const struct pp_cache_attr *attr, struct pp_cache **out);

struct pp_file;

/** enum pp_file_reason - why bytes went through host memory */
enum pp_file_reason {
	PP_FILE_ALL_DIRECT,	/* no byte did */
	PP_FILE_EDGES,		/* the range does not begin and end on blocks of the file */
	PP_FILE_UNALIGNED,	/* address and offset have different alignment */
	PP_FILE_NO_DIRECT_IO,	/* the file has no direct I/O, or statx() does not report its alignment */
	PP_FILE_NO_CACHE,	/* the file was opened without a cache of views */
	PP_FILE_NO_EXPORT,	/* the driver exports no dma-buf of the memory */
	PP_FILE_NO_VIEW,	/* the driver cannot map the dma-buf */
	PP_FILE_NO_PAGES,	/* the driver's mapping has no p2pdma pages */
	PP_FILE_NO_WAY,		/* the disk's driver or the kernel refused the pages */
};

/**
 * struct pp_file_result - how pp_file_read() or pp_file_write() moved the bytes
 * @direct: bytes that the disk's DMA moved between disk and memory
 * @bounced: bytes that went through other host memory
 * @reason: enum pp_file_reason of the first bounced byte
 * @error: the error behind @reason if a call was refused, else 0
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
 * @fd: a regular file or a block device, without O_APPEND. It stays the caller's
 * @views: NULL, or from pp_cache_create_view(); must outlive the file
 * @out: set on success; close it with pp_file_close()
 *
 * Return: 0; -EINVAL @fd is no such file, or @views is not a cache of views; -EBADF;
 * -EACCES @views belongs to the parent process; -ENOMEM; other errors of dup() and open().
 */
int pp_file_open(int fd, struct pp_cache *views, struct pp_file **out);

/**
 * pp_file_close - close a file, which may be NULL; the caller's descriptor stays open
 *
 * Closes other descriptors of the same inode. That drops the locks of fcntl(F_SETLK) which
 * the process holds on the file; locks of F_OFD_SETLK stay.
 */
void pp_file_close(struct pp_file *file);

/**
 * pp_file_read - read from a file into GPU or host memory
 * @dst: GPU or host address, any alignment
 * @length: bytes; GPU memory: within one allocation
 * @offset: in the file
 * @result: NULL, or filled in; on failure too
 *
 * The disk's DMA moves whole blocks directly, if that is possible. All other bytes are
 * bounced: for GPU memory through a buffer in host memory, for host memory through the page
 * cache. The memory of an integrated GPU is host memory here. At the end of the file fewer
 * than @length bytes are read: their number is @direct plus @bounced.
 *
 * When the call returns, all bytes are in @dst, and GPU work started afterwards sees them.
 * The caller waits for GPU work on @dst that started before.
 *
 * Return: 0; -EINVAL past the end of an allocation, impossible offset, or the caller has set
 * O_APPEND or O_DIRECT since; -EFAULT neither GPU nor host memory, for example memory freed
 * before; -EIO the disk or CUDA failed; -ENODEV the disk was removed, or the thread has no
 * CUDA context and gets none; -ESTALE the memory was freed during the call; -ENOMEM; -EACCES
 * in a child of fork(); other errors of pread().
 */
int pp_file_read(struct pp_file *file, void *dst, size_t length, uint64_t offset,
		 struct pp_file_result *result);

/**
 * pp_file_write - write GPU or host memory into a file
 *
 * As pp_file_read(), in the other direction. The caller first waits for GPU work that writes
 * @src, by cuStreamSynchronize() or cuCtxSynchronize(): this call does not. cuMemsetD8(), for
 * example, may return before it is done. The caller also calls fsync() if needed.
 * Simultaneous writes to a block device must not share a page of 4 KiB.
 *
 * Return: as pp_file_read(); also -ENOSPC the disk is full, @result has the bytes that fitted;
 * -EBADF the file is open for reading only.
 */
int pp_file_write(struct pp_file *file, const void *src, size_t length, uint64_t offset,
		  struct pp_file_result *result);

/** pp_file_strreason - return a sentence for an enum pp_file_reason; never NULL */
const char *pp_file_strreason(uint32_t reason);

/* ---- BAR1 (guide 12.1) -------------------------------------------------- */

/**
 * struct pp_bar1 - the BAR1 aperture of a GPU, as NVML reports it
 * @name: product
 * @uuid: as text
 * @pci: PCI address as in /sys/bus/pci/devices
 * @total: bytes
 * @used: bytes
 * @free: bytes; the driver reserves some of them, so less can be pinned
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
 * pp_bar1 - read the BAR1 usage of a GPU from NVML, which the first call loads
 * @index: GPU number in NVML, from 0
 * @out: filled in on success
 *
 * Return: 0; -ENODEV no such GPU, or no GPU driver; -ENOENT NVML is not installed;
 * -EOPNOTSUPP an integrated GPU, which has no BAR1; -EIO NVML failed.
 */
int pp_bar1(unsigned int index, struct pp_bar1 *out);

#ifdef __cplusplus
}
#endif
#endif

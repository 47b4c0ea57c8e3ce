/* SPDX-License-Identifier: MIT */
/*
 * libpeerpin: the userspace communication library of GPUDirect RDMA.
 *
 * Return values
 *	A function that returns int returns 0 or a negative errno, unless its comment
 *	says otherwise. No function changes errno, prints or exits.
 *
 * Parameters
 *	Sizes and offsets are in bytes, times in nanoseconds. @out is set on success only. @why
 *	may be NULL; it is filled in on failure (reason 0: unknown). A function that makes an object
 *	(a context, region, mapping, dma-buf, cache, peer or file) returns -EINVAL if @out or a
 *	pointer to another object is NULL.
 *
 * Threads
 *	Any thread may call any function, and several threads may use one object at the same time.
 *	pp_close(), pp_cache_destroy(), pp_peer_close() and pp_file_close() must be the last call
 *	on their object. No function is a cancellation point; none may be called in a signal handler.
 *
 * fork()
 *	In a child of fork(), calls on an object of the parent return -EACCES. In the child,
 *	pp_close(), pp_peer_close() and pp_file_close() only close descriptors, pp_cache_stats()
 *	reports zeros, and the other cache functions that return void do nothing.
 *
 * Descriptors
 *	Descriptors that the library keeps or hands out are never 0, 1 or 2.
 *
 * Small and pooled GPU allocations (pp_region(3))
 *	Freeing an allocation that does not consist of whole blocks of 2 MiB, or that returns to a
 *	stream-ordered pool, revokes no pin. A device that still uses the pin accesses the next
 *	contents of the block.
 *
 * Crash in CUDA's driver 580.159 (pp_query(3))
 *	Do not free GPU memory of less than 2 MiB during a call that asks CUDA about it: pp_query(),
 *	pp_sync_memops(), pins, exports, pp_file_read(), pp_file_write(), and gets that miss or
 *	compare CUDA's buffer id. In a cache of dma-bufs, views or persistent pins, and in
 *	pp_verbs_reg(), a get that misses also asks about other memory in the cache.
 *
 * "guide N" means the NVIDIA GPUDirect RDMA guide, section N ("Developing a Linux Kernel Module
 * using GPUDirect RDMA", release 12.9). The Jetson article is NVIDIA's "GPUDirect RDMA on NVIDIA
 * Jetson AGX Xavier".
 */
#ifndef LIBPEERPIN_H
#define LIBPEERPIN_H

#include <stddef.h>
#include <stdint.h>

#define PP_VERSION "1.0.0"

/*
 * How a function uses the object that its parameter @n points to. By these attributes gcc warns about an object that is
 * too small, and does not warn about an object that is not initialised yet.
 */
#if defined(__GNUC__) && __GNUC__ >= 11 && !defined(__clang__)
#define PP_WRITES(n) __attribute__((access(write_only, n)))
#define PP_WRITES_BYTES(n, bytes) __attribute__((access(write_only, n, bytes)))
#define PP_READS_BYTES(n, bytes) __attribute__((access(read_only, n, bytes)))
#else
#define PP_WRITES(n)
#define PP_WRITES_BYTES(n, bytes)
#define PP_READS_BYTES(n, bytes)
#endif
/* Empty in the library itself, because gcc 12 would warn: it takes a use of the address for a read of the memory. */
#if defined(__GNUC__) && __GNUC__ >= 11 && !defined(__clang__) && !defined(PP_IMPLEMENTATION)
#define PP_ADDRESS_ONLY(n) __attribute__((access(none, n)))
#else
#define PP_ADDRESS_ONLY(n)
#endif

/*
 * Two functions have the name of a struct. In C++ the plain name then means the function: write "struct pp_bar1", or the
 * typedef. g++ -Wshadow warns that the function hides a constructor; these structs have none.
 */
#if defined(__cplusplus) && defined(__GNUC__) && !defined(__clang__)
#define PP_HIDES_STRUCT _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"")
#define PP_HIDES_STRUCT_END _Pragma("GCC diagnostic pop")
#else
#define PP_HIDES_STRUCT
#define PP_HIDES_STRUCT_END
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- query: the kind of memory (guide 13.1, 13.2) ---------------------- */

enum pp_mem_kind {
	PP_MEM_HOST,		/* host memory, and each address that CUDA does not know */
	PP_MEM_GPU,
	PP_MEM_MANAGED,		/* migrates: must not be pinned (guide 4) */
};

/**
 * struct pp_mem - what pp_query() found out about an address
 * @kind: host, GPU or managed memory
 * @device: CUDA ordinal of the GPU; -1 for host memory
 * @base: first byte of the allocation, or of the mapping if the program maps the memory itself
 *	(cuMemMap()); 0 for host memory
 * @size: bytes of the allocation or mapping; 0 for host memory
 * @buffer_id: CUDA's id of the allocation, which is never reused; 0 for host memory
 * @rdma: 1: CUDA allows devices to access the memory. 0: host memory, or GPU memory without this
 *	property. Memory of cuMemCreate() and of pools has the property only on request
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
 *
 * Calls cuPointerGetAttributes() one to three times; never loads CUDA. A freed GPU address is
 * PP_MEM_HOST, and so is every address while CUDA is not loaded or fails.
 *
 * Return: 0; -EINVAL @out is NULL.
 */
int pp_query(const void *addr, struct pp_mem *out) PP_ADDRESS_ONLY(1) PP_WRITES(2);

/**
 * pp_sync_memops - make CUDA's copies on an allocation synchronous (guide 11.7)
 * @addr: address inside a GPU allocation
 *
 * Call it once per allocation before a peer first accesses the memory, or the peer may read stale
 * data. pp_pin() does not call it. pp_dmabuf_export() does, and so do misses in all caches except
 * those of pp_cache_create(). The call does not cover copies that began before, and copies by CUDA's
 * Async functions: the caller waits for these copies.
 *
 * Return: 0; -EINVAL not GPU memory; -EOPNOTSUPP memory of cuMemMap(), for which CUDA has no such
 * mode: wait for its copies before you start a peer.
 */
int pp_sync_memops(const void *addr) PP_ADDRESS_ONLY(1);

/* ---- context and region ------------------------------------------------ */

struct pp_ctx;

/**
 * struct pp_region - pinned memory; read-only for the caller
 * @addr: requested address, rounded down to @page_size. For a dma-buf: the requested offset
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
 * @needed: bytes that the pin needed of the resource in @reason, or 0
 * @available: bytes that were available of the resource in @reason; 0 also if unknown
 */
struct pp_why {
	uint32_t reason;
	uint64_t needed;
	uint64_t available;
};

/**
 * pp_open - open /dev/peerpin and map its revocation page
 * @out: the context; close it with pp_close()
 *
 * Return: 0; -ENOENT the module is not loaded; -EACCES no permission; -ENODEV another file is in the
 * place of the device, as in some containers; errors of open() and mmap().
 */
int pp_open(struct pp_ctx **out) PP_WRITES(1);

/**
 * pp_close - unpin all regions that were pinned through @ctx, and free @ctx
 * @ctx: from pp_open(), or NULL
 *
 * Also ends all watches of pp_watch(). Does not unpin regions made by the caller's own ioctls on
 * pp_fd(): see pp_region(3).
 */
void pp_close(struct pp_ctx *ctx);

/** pp_fd - return the descriptor to pass to a peer driver; it belongs to @ctx */
int pp_fd(const struct pp_ctx *ctx);

/**
 * pp_pin - pin GPU memory of this process, or host memory that the process may write
 * @addr, @length: any alignment, not empty
 * @out: pass it to pp_unpin() once
 *
 * Implements guide 12.2, except for SYNC_MEMOPS: see pp_sync_memops(). If CUDA knows @addr, CUDA
 * decides whether the memory is GPU or host memory. If BAR1 space runs out, the library asks NVML
 * how much is free; this is slow.
 *
 * Return: 0; -EINVAL also for managed memory; other errors of PEERPIN_IOC_PIN (peerpin(4)).
 */
int pp_pin(struct pp_ctx *ctx, const void *addr, size_t length,
	   struct pp_region *out, struct pp_why *why)
	PP_ADDRESS_ONLY(2) PP_WRITES(4) PP_WRITES(5);

/**
 * pp_pin_with - pp_pin() with flags
 * @flags: enum peerpin_pin_flags. PEERPIN_PIN_PERSISTENT: a non-revocable pin of GPU memory, which
 *	lasts until it is unpinned, even if the memory is freed. Only removing the GPU, or unbinding
 *	its driver, revokes the pin
 *
 * Return: as pp_pin(); also -EINVAL persistent, but not GPU memory; -EOPNOTSUPP unknown flag, or
 * the GPU's driver has no persistent pins.
 */
int pp_pin_with(struct pp_ctx *ctx, const void *addr, size_t length,
		uint32_t flags, struct pp_region *out, struct pp_why *why)
	PP_ADDRESS_ONLY(2) PP_WRITES(5) PP_WRITES(6);

/**
 * pp_pin_dmabuf - pin a range of a dma-buf of any driver
 * @fd: the dma-buf; the caller may close it afterwards
 * @offset, @length: in the dma-buf; multiples of the system's page size, @length not 0
 * @out: the region; its @addr is @offset. Pass it to pp_unpin() once
 *
 * If the exporter takes its memory back, the region is revoked, or the next driver that attaches
 * to the region gets an error: see pp_region(3).
 *
 * Return: 0; -EBADF @fd is not a dma-buf; -EINVAL the range is not whole pages within the dma-buf;
 * other errors of PEERPIN_IOC_PIN.
 */
int pp_pin_dmabuf(struct pp_ctx *ctx, int fd, uint64_t offset, uint64_t length,
		  struct pp_region *out, struct pp_why *why) PP_WRITES(5) PP_WRITES(6);

/**
 * pp_unpin - unpin a region, revoked or not (guide 12.3)
 *
 * Waits at most drain_timeout_ms (peerpin(4)) for DMA in flight. The wait for the exporter of a
 * dma-buf has no limit. The kernel reuses region ids: a second call may unpin another region.
 *
 * Return: 0; -ENOENT no such region.
 */
int pp_unpin(struct pp_ctx *ctx, const struct pp_region *region);

/**
 * pp_region_valid - check that a region has not been revoked since it was pinned
 *
 * Costs two loads: one of the process's fork mark, and one (acquire) of the region's word in the
 * revocation page. The kernel changes this word before the freeing call returns. If a huge page in
 * the region is split, the region is revoked although the memory still exists: pin it again. For
 * small and pooled GPU allocations the result stays 1 after the free: compare @buffer_id of
 * pp_query(), or use a cache.
 *
 * Return: 1 valid; 0 revoked or unpinned, or @ctx belongs to the parent process.
 */
int pp_region_valid(const struct pp_ctx *ctx, const struct pp_region *region);

/**
 * pp_region_map - map a region for the CPU
 * @offset: bytes from the region's @addr, a multiple of the system's page size
 * @length: bytes, not 0, rounded up to the page size; must end within the region
 * @prot: PROT_READ, or PROT_READ | PROT_WRITE, of <sys/mman.h>
 * @out: address of the CPU mapping
 *
 * GPU memory is usually write-combined. The CPU mapping keeps the context's file open, but not the
 * region: after the region is revoked or unpinned, the next access is a SIGBUS. See pp_region(3).
 *
 * Return: 0; -EINVAL unaligned, empty, or not within the region; -ESTALE the region is revoked or
 * unpinned; -EOPNOTSUPP the CPU cannot map this memory; -ENOMEM; other errors of mmap().
 */
int pp_region_map(struct pp_ctx *ctx, const struct pp_region *region,
		  uint64_t offset, size_t length, int prot, void **out) PP_WRITES(6);

/**
 * pp_region_unmap - remove all or part of a CPU mapping; its region may have ended
 * @view: first byte to unmap, page-aligned
 * @length: bytes, not 0
 *
 * Return: 0; -EINVAL @view is unaligned, or @length is 0; -ENOMEM splitting the mapping would
 * exceed the process's limit of mappings.
 */
int pp_region_unmap(struct pp_ctx *ctx, void *view, size_t length);

/**
 * pp_region_export - make a dma-buf of a part of a region, for drivers that do not support peerpin
 * @offset, @length: as for pp_region_map(), but @length must be a multiple of the page size
 * @out: the descriptor, close-on-exec; the caller closes it once the importer has it
 *
 * The dma-buf holds no reference on the region or the context. When the region ends, importers get
 * an invalidation (move_notify) and lose their mappings; pp_region(3) lists the exceptions, and
 * peerpin(4) the importers that are refused.
 *
 * Return: 0; -EINVAL unaligned, empty, or not within the region; -ESTALE the region is revoked or
 * unpinned; -EOPNOTSUPP the region was pinned from a dma-buf: pass that dma-buf on; -EDQUOT the
 * region has 1024 dma-bufs and importers; -EMFILE, -ENFILE, -ENOMEM.
 */
int pp_region_export(struct pp_ctx *ctx, const struct pp_region *region,
		     uint64_t offset, uint64_t length, int *out) PP_WRITES(5);

/* ---- watch: host memory that others pin ---------------------------------- */

/**
 * struct pp_watched - a watched range of host memory; read-only for the caller
 * @addr, @length: as requested; the kernel watches whole pages
 * @id: id of the watch
 * @slot: index of the watch's word in the revocation page
 * @epoch: value of that word while the watch is valid
 */
struct pp_watched {
	uint64_t addr;
	uint64_t length;
	uint32_t id;
	uint32_t slot;
	uint32_t epoch;
};

/**
 * pp_watch - learn when pages of host memory of this process may have changed, without a pin
 * @addr, @length: any alignment, not empty; mapped memory, readable or writable
 * @out: pass it to pp_unwatch() once
 *
 * For a program that registers memory by other means. Watch, then register, and check
 * pp_watch_valid() before each use of the registration. The kernel changes the word before a page
 * of the range can be replaced by another page, and sometimes for pages that stay: pp_watch(3) has
 * the table. Watches may overlap. A context has at most PEERPIN_MAX_WATCHES, and all
 * contexts of a process together have at most as many that have not changed.
 *
 * Context: takes mmap_lock for reading. So a thread that handles page faults of this process
 * (userfaultfd) must not call it while a fault waits. Makes one system call, and up to three CUDA
 * calls if CUDA is loaded.
 *
 * Return: 0; -EINVAL not such memory, or managed memory (PEERPIN_REASON_MANAGED); -EOPNOTSUPP GPU
 * memory, or the kernel module has no watches; -EACCES in a child of fork(); -EDQUOT, -ENOMEM,
 * -EINTR as in PEERPIN_IOC_WATCH (peerpin(4)).
 */
int pp_watch(struct pp_ctx *ctx, const void *addr, size_t length, struct pp_watched *out, struct pp_why *why)
	PP_ADDRESS_ONLY(2) PP_WRITES(4) PP_WRITES(5);

/**
 * pp_unwatch - end a watch, valid or not
 *
 * The kernel reuses ids: a second call may end another watch. One system call; pp_close() ends all
 * watches of the context at once.
 *
 * Return: 0; -ENOENT no such watch; -EACCES in a child of fork().
 */
int pp_unwatch(struct pp_ctx *ctx, const struct pp_watched *watched);

/**
 * pp_watch_valid - check that no page of the range has been replaced since pp_watch()
 *
 * Costs two loads, as pp_region_valid(). Any thread may call it while no thread calls pp_close().
 *
 * Return: 1 valid; 0 pages may have changed, the watch has ended, or @ctx belongs to the parent
 * process.
 */
int pp_watch_valid(const struct pp_ctx *ctx, const struct pp_watched *watched);

/** pp_strreason - return a sentence for an enum peerpin_reason; never NULL */
const char *pp_strreason(uint32_t reason);

/**
 * pp_explain - write one sentence, with numbers, about a pin that failed
 * @out: buffer, always terminated; NULL if @room is 0
 * @room: bytes in @out; a longer sentence is truncated
 * @error: what the pin returned
 * @why: NULL, or what the pin filled in
 *
 * Return: length of the whole sentence, truncated or not, as snprintf().
 */
int pp_explain(char *out, size_t room, int error, const struct pp_why *why) PP_WRITES_BYTES(1, 2);

/* ---- registration cache (NVIDIA guide, sections 11.1, 11.2, 12.5) ------ */

struct pp_cache;

/**
 * struct pp_cache_entry - a cached registration; read-only for the caller
 * @addr, @length: the registered range
 * @reg: what the pin callback stored. pp_cache_create_ctx(): struct pp_region *; _dmabuf(): const
 *	struct pp_dmabuf *; _view(): const struct pp_view *
 */
struct pp_cache_entry {
	uint64_t addr;
	uint64_t length;
	void *reg;
};

/**
 * struct pp_cache_ops - how a cache registers ranges
 * @pin: register [addr, addr + length). Set *reg on success. On failure it may fill in *why, which
 *	is never NULL. On -ENOMEM, -ENOSPC, -EDQUOT or -EMFILE the cache evicts idle entries, those
 *	that overlap the range first, and calls @pin again. An older entry that the range replaces
 *	is unpinned after @pin succeeds. A @pin that cannot register overlapping ranges returns one
 *	of these errors: then the cache unpins the older entry first. While the older entry is in
 *	use, the get fails.
 * @unpin: undo one successful @pin. Any thread that calls a function of this cache may run @unpin,
 *	so it must not hold a lock that @unpin takes: for an @unpin that calls free(), the locks of
 *	malloc(), which an interceptor of munmap() may hold.
 * @word: NULL, or called once after each @pin: returns a word and sets *value. @reg is valid while
 *	the word equals *value. The word must stay readable as long as the cache exists. Each hit
 *	loads it once (acquire). Returns NULL if @reg has no word.
 * @valid: NULL, or returns 1 while @reg is valid. Called on each hit of an entry without a word, and
 *	on each miss for a few other entries in turn, so it must be cheap. Without @word and @valid
 *	the caller must call pp_cache_invalidate() before memory is freed.
 * @grow: NULL, or widens *addr and *length before a miss is registered. Returns -errno to fail the
 *	get, or one of:
 *	1: the result is a whole allocation. The cache registers nothing beyond it. If the result
 *	   cannot be registered, the cache tries the range of the get.
 *	0: the cache may merge the result with entries that overlap it. If the union cannot be
 *	   registered, the cache tries the result.
 *
 * The cache holds no lock during callbacks. A callback must not call functions of the same cache,
 * because a get may be waiting for this @pin or @unpin. Exception: @pin and @unpin may call
 * pp_cache_invalidate(). Thread cancellation is disabled in all callbacks but @valid, which must
 * not be a cancellation point.
 */
struct pp_cache_ops {
	int (*pin)(void *arg, uint64_t addr, uint64_t length, void **reg, struct pp_why *why);
	void (*unpin)(void *arg, void *reg);
	const uint32_t *(*word)(void *arg, void *reg, uint32_t *value);
	int (*valid)(void *arg, void *reg);
	int (*grow)(void *arg, uint64_t *addr, uint64_t *length);
};

/**
 * enum pp_cache_watch - how a cache learns that memory was freed
 *
 * For caches of pp_cache_create_ctx() (regions) and pp_cache_create_dmabuf(). With HOOK and TAG,
 * a cache of regions also checks the revocation page on each hit. pp_cache(3) compares the methods.
 * The creation of a cache fails with -EOPNOTSUPP:
 * - with HOOK, if the hook is not loaded or misses calls (pp_hook_add());
 * - with EPOCH for dma-bufs, and with EPOCH and PEERPIN_PIN_PERSISTENT: a free does not change the
 *   revocation page;
 * - with an unknown flag in @pin_flags; for dma-bufs, with any flag in @pin_flags.
 */
enum pp_cache_watch {
	PP_WATCH_BEST,	/* HOOK if the hook sees all frees; else TAG for dma-bufs and persistent pins, otherwise EPOCH */
	PP_WATCH_EPOCH,	/* the revocation page; for small and pooled memory the buffer id. Regions only */
	PP_WATCH_HOOK,	/* libpeerpin-hook.so, which reports frees by CUDA calls of this process */
	PP_WATCH_TAG,	/* CUDA's buffer id (guide 12.5): one CUDA call on each hit */
	PP_WATCH_NONE,	/* the caller invalidates before each free, and when a device returns -ESTALE */
};

/**
 * struct pp_cache_attr - limits; zero-initialise, then set what differs
 * @max_bytes, @max_entries: limits; while the cache exceeds a limit, idle entries are evicted;
 *	0: no limit
 * @pin_flags: enum peerpin_pin_flags, for caches of regions and pp_verbs_open(); 0 for all other caches
 * @watch: enum pp_cache_watch, for caches of regions and of dma-bufs; 0 for all other caches
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
 * @misses: gets that registered, or tried to register
 * @evictions: idle entries that were unpinned to keep the limits or to make room
 * @revocations: entries that a get found stale
 * @pins, @unpins: registrations made and ended
 * @pin_ns: time spent in pin callbacks, failed calls included
 * @entries, @bytes: present number of entries, and their bytes
 * @pin_histogram: element i counts registrations that took 2^i to 2^(i + 1) - 1 ns; the last
 *	element also counts all longer registrations
 *
 * While registrations take less than 4096 ns, one in 16 is timed, and counts 16 times in @pin_ns
 * and @pin_histogram. All others are timed.
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
 * pp_cache_create - create a cache that registers through the caller's functions
 * @ops: copied; @pin and @unpin must not be NULL
 * @arg: passed to @ops
 * @attr: NULL: no limits. pin_flags and watch must be 0
 *
 * Return: 0; -EINVAL pin or unpin is NULL, or pin_flags or watch is not 0; -ENOMEM.
 */
int pp_cache_create(const struct pp_cache_ops *ops, void *arg,
		    const struct pp_cache_attr *attr, struct pp_cache **out) PP_WRITES(4);

/**
 * pp_cache_create_ctx - create a cache of regions of /dev/peerpin
 * @ctx: must outlive the cache
 * @attr: NULL: no limits, PP_WATCH_BEST
 *
 * Registers whole GPU allocations if there is room, and whole pages of host memory. Gets of GPU
 * memory with @rdma 0 (struct pp_mem) return -EINVAL.
 *
 * With PEERPIN_PIN_PERSISTENT in @pin_flags the cache makes persistent pins, of GPU memory only:
 * gets of other memory return -EINVAL. An entry keeps freed memory allocated, as a dma-buf does,
 * until the hook reports the free or a tag differs.
 *
 * Return: 0; -EOPNOTSUPP see enum pp_cache_watch; -EINVAL no such watch; -EACCES @ctx belongs to
 * the parent process; -ENOMEM.
 */
int pp_cache_create_ctx(struct pp_ctx *ctx, const struct pp_cache_attr *attr,
			struct pp_cache **out) PP_WRITES(3);

/**
 * struct pp_dmabuf - a dma-buf that the GPU's driver exports
 * @fd: descriptor; if a cache made it, it belongs to the cache: do not close it
 * @addr, @length: its GPU memory; multiples of the system's page size
 */
struct pp_dmabuf {
	int fd;
	uint64_t addr;
	uint64_t length;
};

/**
 * pp_dmabuf_export - export GPU memory as a dma-buf, by the GPU's driver
 * @addr, @length: any alignment, not empty, within one allocation; of memory of cuMemMap() also within
 *	several mappings side by side, if the GPU's driver exports these (580 on an H200 does)
 * @out: the pages that hold the range; the caller closes the descriptor once the importer has it
 *
 * Freed memory stays allocated while the dma-buf has a descriptor or an importer. Do not free
 * pooled memory during the call: CUDA's driver (580.159) crashes.
 *
 * Return: 0; -EOPNOTSUPP not GPU memory, or CUDA is not loaded or cannot export dma-bufs; -EINVAL
 * empty, managed memory, or past the end of an allocation; -ESTALE the memory was freed during the
 * call; -ENOMEM; -EMFILE too many descriptors; -EIO CUDA failed.
 */
int pp_dmabuf_export(const void *addr, size_t length, struct pp_dmabuf *out, struct pp_why *why)
	PP_ADDRESS_ONLY(1) PP_WRITES(3) PP_WRITES(4);

/**
 * enum pp_mapping - the way in which importers reach memory of a GPU that is coherent with the CPU (Grace)
 *
 * For all other GPUs there is one way, BAR1.
 */
enum pp_mapping {
	PP_MAPPING_BEST,	/* PCIE if the GPU is coherent and its driver supports that, else DEFAULT */
	PP_MAPPING_PCIE,	/* by PCIe through BAR1: for importers that are PCIe devices */
	PP_MAPPING_DEFAULT,	/* what the driver chooses; for a coherent GPU by the link to the CPU, without BAR1 */
};

/**
 * pp_dmabuf_export_mapped - pp_dmabuf_export() by a given way to the memory
 * @mapping: enum pp_mapping; pp_dmabuf_export() uses PP_MAPPING_BEST
 *
 * Return: as pp_dmabuf_export(); also -EOPNOTSUPP PP_MAPPING_PCIE, and the GPU or its driver cannot;
 * -EINVAL no such @mapping.
 */
int pp_dmabuf_export_mapped(const void *addr, size_t length, uint32_t mapping, struct pp_dmabuf *out,
			    struct pp_why *why) PP_ADDRESS_ONLY(1) PP_WRITES(4) PP_WRITES(5);

/**
 * pp_cache_create_dmabuf - create a cache of dma-bufs of GPU memory
 * @attr: NULL: no limits, PP_WATCH_BEST. Each entry holds a descriptor, so a process with many
 *	allocations sets max_entries below its RLIMIT_NOFILE
 *
 * CUDA makes the dma-bufs (cuMemGetHandleForAddressRange()); no kernel module is needed. The offset
 * of an address in the dma-buf is the address minus @addr. Before pp_cache_put() the caller ends
 * all imports of the descriptor, for example memory regions. A child of fork() inherits the
 * descriptors: see pp_cache(3). Gets return the errors of pp_dmabuf_export().
 *
 * Return: 0; -EOPNOTSUPP see enum pp_cache_watch, or CUDA is not loaded or cannot export dma-bufs;
 * -EINVAL no such watch; -ENOMEM.
 */
int pp_cache_create_dmabuf(const struct pp_cache_attr *attr, struct pp_cache **out) PP_WRITES(2);

/**
 * pp_cache_get - get a registration that covers a range
 * @addr, @length: any alignment, not empty
 * @out: the entry. Call pp_cache_put() once for each get, when no peer uses the entry any more
 *
 * A hit takes no lock and does not wait, except the first use of the cache by a thread: it takes
 * memory for the thread's counts. Any get may call @unpin of any entry: do not hold a lock that
 * @unpin takes. The caches of this library call free(), ioctl() and close() there.
 *
 * Does not return memory that was freed before the call began. Two exceptions:
 * - the cache watches nothing (PP_WATCH_NONE, or neither @word nor @valid) and the caller did not
 *   call pp_cache_invalidate();
 * - the cache relies on the hook, and the free bypassed the hook.
 * Memory of an entry in use may be freed: see pp_region_valid().
 *
 * Return: 0; -EINVAL the range is empty or overflows; -ENOMEM; errors of @pin and @grow; -ESTALE the
 * memory was freed, or a huge page of it was split, during registration: call again once; -ESTALE
 * also if the memory of a cached registration was freed, and @pin finds no memory there now.
 */
int pp_cache_get(struct pp_cache *cache, const void *addr, size_t length,
		 const struct pp_cache_entry **out, struct pp_why *why)
	PP_ADDRESS_ONLY(2) PP_WRITES(4) PP_WRITES(5);

/**
 * pp_cache_put - drop the reference of one get; any thread may do it
 *
 * The entry stays registered until it is evicted or invalidated. Usually takes no lock. The last
 * put of an invalidated entry, and each put while the cache exceeds its limits, may take a lock and
 * call @unpin of this entry or of others. So do not hold a lock that @unpin takes.
 */
void pp_cache_put(struct pp_cache *cache, const struct pp_cache_entry *entry);

/**
 * pp_cache_invalidate - remove all entries that overlap a range
 * @addr, @length: any alignment; if @length is 0, no entry is removed
 *
 * On return the idle entries of the range are unpinned. An entry in use is unpinned by its last
 * put. A registration in progress serves only the get that makes it. Waits for unpins of other
 * threads, but not inside @pin and @unpin of any cache. Do not hold a lock that @unpin takes.
 */
void pp_cache_invalidate(struct pp_cache *cache, const void *addr, size_t length) PP_ADDRESS_ONLY(2);

/** pp_cache_flush - unpin all idle entries; do not hold a lock that @unpin takes */
void pp_cache_flush(struct pp_cache *cache);

#ifdef __cplusplus
typedef struct pp_cache_stats pp_cache_counts;	/* in C++ the function hides the struct */
#endif

PP_HIDES_STRUCT
/** pp_cache_stats - read the counters; do not hold a lock that @unpin takes */
void pp_cache_stats(struct pp_cache *cache, struct pp_cache_stats *out) PP_WRITES(2);
PP_HIDES_STRUCT_END

/**
 * pp_cache_destroy - unpin all entries and free the cache
 * @cache: may be NULL
 *
 * No entry may be in use, and the caller must not hold a lock that @unpin takes. Do not call it in
 * a subscriber of libpeerpin-hook.so: the hook may be calling this cache in other threads.
 */
void pp_cache_destroy(struct pp_cache *cache);

/* ---- peer devices (guide 3, the Jetson article) ------------------------ */

struct pp_peer;

/**
 * struct pp_copy_result - result of pp_peer_copy()
 * @bytes: bytes copied
 * @engine_ns, @total_ns: time of the device's engine, and of the whole call
 * @pins: registrations made for this copy; 0: both ends were cached
 * @pin_ns: time spent registering, failed attempts included
 * @why: reason of a failed registration
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
 * @out: close it with pp_peer_close()
 *
 * Return: 0; -ENOENT no such device; -EACCES no permission, or @cache belongs to the parent
 * process; -ENOTTY not a peer device; -ENODEV not a device at all, or one that is being removed;
 * -EINVAL @cache is not from pp_cache_create_ctx(); -ENOMEM; other errors of open().
 */
int pp_peer_open(const char *name, struct pp_cache *cache, struct pp_peer **out) PP_WRITES(3);

/** pp_peer_close - close a peer, which may be NULL; the cache stays open */
void pp_peer_close(struct pp_peer *peer);

/**
 * pp_peer_copy - copy between two ranges of memory by the device
 * @dst, @src: GPU or host addresses; the ranges must not overlap
 * @length: bytes, not 0
 * @result: NULL, or filled in; on failure too
 *
 * If a registration is revoked meanwhile, registers again and copies again, once. Do not free
 * memory during a copy: the free of a small or pooled GPU allocation revokes nothing, so the copy
 * continues in a block that may have a new owner.
 *
 * Return: 0; -ESTALE memory was freed before the copy ended, and the data at @dst is undefined;
 * -EINVAL also if the ranges overlap; other errors of pp_cache_get() and PEERPIN_LSI_IOC_COPY.
 */
int pp_peer_copy(struct pp_peer *peer, void *dst, const void *src,
		 size_t length, struct pp_copy_result *result)
	PP_WRITES_BYTES(2, 4) PP_READS_BYTES(3, 4) PP_WRITES(5);

/* ---- storage: files and memory (guide, introduction: storage adapters) -- */

/**
 * struct pp_view - a CPU mapping of GPU memory; @reg of an entry of a cache of views
 * @at: CPU address of the mapping
 * @addr, @length: its GPU memory; multiples of the system's page size
 */
struct pp_view {
	void *at;
	uint64_t addr;
	uint64_t length;
};

/**
 * pp_cache_create_view - create a cache of views: CPU mappings of GPU memory
 * @attr: NULL: no limits. pin_flags and watch must be 0
 *
 * The GPU's driver makes the mappings, by mmap() of its dma-bufs; no kernel module is needed. If it
 * maps p2pdma pages, direct I/O accepts addresses in a view: see pp_file(3). A view is
 * write-combined: write it in order. Freed memory stays allocated until its entry is unmapped: by
 * the hook or, without the hook, at the next get of its address. Gets return -ENODEV if the driver
 * cannot map its dma-bufs, else the errors of pp_dmabuf_export().
 *
 * Return: 0; -EOPNOTSUPP pin_flags or watch is not 0; -ENOMEM.
 */
int pp_cache_create_view(const struct pp_cache_attr *attr, struct pp_cache **out) PP_WRITES(2);

struct pp_file;

/** enum pp_file_reason - why bytes went through host memory */
enum pp_file_reason {
	PP_FILE_ALL_DIRECT,	/* no byte went through host memory */
	PP_FILE_EDGES,		/* an end of the range is not on a block boundary of the file */
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
 * @bounced: bytes that went through a buffer in host memory
 * @reason: enum pp_file_reason of the first bounced byte
 * @error: if a call caused @reason: the error of the call, else 0
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
 * @fd: a regular file or a block device, without O_APPEND. The caller still has to close it
 * @views: NULL, or from pp_cache_create_view(); must outlive the file
 * @out: close it with pp_file_close()
 *
 * Return: 0; -EINVAL @fd is no such file, or @views is not a cache of views; -EBADF; -EACCES @views
 * belongs to the parent process; -ENOMEM; other errors of dup() and open().
 */
int pp_file_open(int fd, struct pp_cache *views, struct pp_file **out) PP_WRITES(3);

/**
 * pp_file_close - close a file, which may be NULL; the caller's descriptor stays open
 *
 * Drops the locks of fcntl(F_SETLK) that the process holds on the file: see pp_file(3).
 */
void pp_file_close(struct pp_file *file);

/**
 * pp_file_read - read from a file into GPU or host memory
 * @dst: GPU or host address, any alignment
 * @length: bytes; GPU memory: within one allocation
 * @offset: in the file
 * @result: NULL, or filled in; on failure too
 *
 * The disk's DMA moves whole blocks directly, if possible; all other bytes are bounced. At the end
 * of the file fewer than @length bytes are read: their number is @direct plus @bounced.
 * When the call returns, GPU work started afterwards sees all bytes. The caller waits for GPU work
 * on @dst that started before.
 *
 * Return: 0; -EINVAL past the end of an allocation, impossible offset, or the caller has set
 * O_APPEND or O_DIRECT since; -EFAULT neither GPU nor host memory, for example memory freed before;
 * -EIO the disk or CUDA failed; -ENODEV the disk was removed, or the thread has no CUDA context and
 * cannot get one; -ESTALE the memory was freed during the call; -ENOMEM; other errors of pread().
 */
int pp_file_read(struct pp_file *file, void *dst, size_t length, uint64_t offset,
		 struct pp_file_result *result) PP_WRITES_BYTES(2, 3) PP_WRITES(5);

/**
 * pp_file_write - write GPU or host memory into a file
 *
 * As pp_file_read(), in the other direction. The caller first waits for GPU work that writes @src,
 * and calls fsync() if needed. Simultaneous writes to a block device must not share a 4 KiB page.
 *
 * Return: as pp_file_read(); also -ENOSPC the disk is full, @result has the bytes that fitted;
 * -EBADF the file is open for reading only.
 */
int pp_file_write(struct pp_file *file, const void *src, size_t length, uint64_t offset,
		  struct pp_file_result *result) PP_READS_BYTES(2, 3) PP_WRITES(5);

/** pp_file_strreason - return a sentence for an enum pp_file_reason; never NULL */
const char *pp_file_strreason(uint32_t reason);

/* ---- BAR1 (guide 12.1) -------------------------------------------------- */

/* Bytes of each BAR1 that NVIDIA's driver reserves. Measured: of 256 MiB, at most 220 can be pinned. */
#define PP_BAR1_RESERVE (36u << 20)

/**
 * struct pp_bar1 - the BAR1 aperture of a GPU, as NVML reports it
 * @name, @uuid: name of the product, and UUID, as text
 * @pci: PCI address as in /sys/bus/pci/devices
 * @total, @used, @free: bytes; pp_bar1_reserve() bytes of @free cannot be pinned
 */
struct pp_bar1 {
	char name[96];
	char uuid[48];
	char pci[32];
	uint64_t total;
	uint64_t used;
	uint64_t free;
};

#ifdef __cplusplus
typedef struct pp_bar1 pp_bar1_usage;	/* in C++ the function hides the struct */
#endif

PP_HIDES_STRUCT
/**
 * pp_bar1 - read the BAR1 usage of a GPU from NVML, which the first call loads
 * @index: GPU number in NVML, from 0
 *
 * Return: 0; -ENODEV no such GPU, or no GPU driver; -ENOENT NVML is not installed; -EOPNOTSUPP an
 * integrated GPU, which has no BAR1; -EIO NVML failed.
 */
int pp_bar1(unsigned int index, struct pp_bar1 *out) PP_WRITES(2);
PP_HIDES_STRUCT_END

/**
 * pp_bar1_reserve - bytes of each BAR1 that the GPU driver reserves, so that pins cannot use them
 *
 * The emulated GPU's driver says how much; for NVIDIA's driver it is PP_BAR1_RESERVE.
 */
uint64_t pp_bar1_reserve(void);

#ifdef __cplusplus
}
#endif
#endif

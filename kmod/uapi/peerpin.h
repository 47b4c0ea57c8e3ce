/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * /dev/peerpin: pin GPU or host memory once, so that any PCIe device can reach it.
 *
 * The protocol
 * ------------
 * The process that opens /dev/peerpin owns that file. After fork() or SCM_RIGHTS, the calls of
 * another process on it fail with EACCES.
 *
 * PEERPIN_CMD_PIN takes a pointer of the process, to GPU memory or to host memory that the
 * process may write. It makes a *region*: a range of pinned memory for peer devices. The id of
 * a region is valid on this file only. The ioctl of a peer device's driver receives (fd of this
 * file, region id, offset, length), and never a pointer.
 *
 * A region ends in one of two ways:
 * - It is *unpinned* by PEERPIN_CMD_UNPIN, by the last close of the file, or when the owner
 *   exits. The exit unpins only if the owner still has a descriptor of the file, and shares its
 *   table of descriptors (CLONE_FILES) with no other process. Otherwise the last close unpins.
 * - It is *revoked* when its memory is freed by cuMemFree(), the end of a CUDA context or munmap(),
 *   or when the GPU driver is unbound. Before the freeing call returns, no DMA can begin and
 *   use of the region fails with ESTALE. For GPU memory, DMA has also ended or exceeded
 *   drain_timeout_ms, and the device mappings are removed. Host pages stay pinned until DMA in
 *   flight has ended. The id stays in use until the region is unpinned, so the id cannot name
 *   another region before that.
 *
 * The kernel may also revoke host memory that was not freed, for example when it splits a huge
 * page: pin the memory again. Freeing a small GPU allocation revokes nothing, because allocations
 * share blocks of 2 MiB. Freeing memory of a stream-ordered pool revokes nothing, because the pool
 * keeps the memory. In both cases the region then reaches the data that CUDA places there next.
 *
 * A child of fork() inherits the file and the mapping of the revocation page. The child keeps
 * the file open after the owner has closed its descriptor. So unpin before closing.
 *
 * The revocation page
 * -------------------
 * mmap(PROT_READ, MAP_SHARED) at offset 0 gives words of 32 bits, one for each slot:
 * PEERPIN_MAX_REGIONS words of regions, then PEERPIN_MAX_WATCHES words of watches. A region is
 * valid while word[out_slot] == out_epoch. The kernel changes the word before the memory can get
 * another use. So one load with acquire order shows whether a cached region is still valid,
 * without a system call or a CUDA call. A later region may use the same slot, with another epoch;
 * a slot that has used all epochs is not used again. The word of a persistent pin does not show
 * that its memory was freed. mmap() errors: EACCES another process; EPERM for writing; EINVAL
 * beyond the array, or MAP_PRIVATE. A module without PEERPIN_CMD_WATCH has no words of watches.
 *
 * Watches
 * -------
 * PEERPIN_CMD_WATCH gives a range of host memory a word of the revocation page, without a pin. A
 * program that registers memory by other means (ibv_reg_mr(), for example) watches the memory,
 * then registers it, and checks the word before each use of the registration. The kernel changes
 * the word before a page of the range can be replaced by another page: by munmap(), mremap(),
 * mmap(MAP_FIXED), madvise(MADV_DONTNEED), truncation, copy-on-write, exec(), exit and others. It
 * may also change the word of pages that stay. doc/lifetimes.md has the table. Watches may
 * overlap; each has its own word. A watch costs no locked memory.
 *
 * The word is about the memory of the process that watches. In a child of fork() it says nothing
 * about the child's memory.
 *
 * CPU mappings
 * ------------
 * mmap(MAP_SHARED) at offset PEERPIN_MMAP_OFFSET(id) + n maps the region from byte n on. Only
 * the process that pinned may map the region, with PROT_READ and, if wanted, PROT_WRITE. n and
 * the length are multiples of the system's page size, and the end lies within the region. The
 * mapping is cached, write-combined or uncached: see out_caching. The mapping keeps the file
 * open, but does not keep the region. After revocation or unpinning, each access raises SIGBUS,
 * also after mremap(). Host memory that was unmapped stays pinned a moment longer, until its CPU
 * mappings are empty. A child of fork() does not inherit CPU mappings.
 * mmap() errors: ENOENT no such region; EACCES another process, or for writing on a file opened
 * read-only; EINVAL beyond the end of the region, or MAP_PRIVATE; ESTALE revoked; EOPNOTSUPP
 * out_caching is PEERPIN_CACHING_NONE (for a dma-buf, map the dma-buf itself); ENOMEM; EIO the
 * pages do not cover the region. mmap2() of a 32-bit program has a 32-bit page offset, which
 * reaches region 0 only.
 *
 * dma-bufs
 * --------
 * PEERPIN_CMD_EXPORT makes a dma-buf of a region, for any driver that imports dma-bufs (by
 * ibv_reg_dmabuf_mr(), for example). When the region ends, the kernel calls move_notify (since
 * Linux 7.1 invalidate_mappings) of the importer, and peerpin waits until the importer's DMA has
 * ended, at most drain_timeout_ms. Then peerpin removes the importer's mappings of revocable GPU
 * memory, even if DMA is still running. Host memory and persistent pins stay until the
 * importer has unmapped. An importer gets revocable GPU memory only if the importer has
 * move_notify, and before Linux 7.1 only if it does not pin the dma-buf.
 * PEERPIN_CMD_PIN also takes a dma-buf of another driver.
 *
 * Form of every call
 * ------------------
 * ioctl(fd, PEERPIN_IOC_x, &struct). Each struct begins with its own size. Reserved fields and
 * unknown trailing bytes must be 0. The kernel writes the fields out_*.
 * Common errors: EINVAL a bad argument, a reserved field not 0, or a size below the first
 * version; E2BIG unknown trailing bytes not 0, or size above a page; EOPNOTSUPP an unknown flag;
 * ENOENT no such region; EACCES another process opened the file; EFAULT the struct is not
 * readable or writable; ENOTTY no such command.
 *
 * "Guide N" below: NVIDIA GPUDirect RDMA guide, section N ("Developing a Linux Kernel Module
 * using GPUDirect RDMA", release 12.9).
 */
#ifndef _UAPI_PEERPIN_H
#define _UAPI_PEERPIN_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define PEERPIN_TYPE 0xB9

enum {
	/* limit of regions of a file, and number of their words in the revocation page; ids are lower */
	PEERPIN_MAX_REGIONS = 131072,
	/*
	 * limit of watches of a file, and number of their words, which follow; ids are lower. Also
	 * the limit of watches of an address space, through all files, that have not changed
	 */
	PEERPIN_MAX_WATCHES = 1048576,
};

enum {
	PEERPIN_CMD_PIN = 0x80,
	PEERPIN_CMD_UNPIN,
	PEERPIN_CMD_QUERY,
	PEERPIN_CMD_EXPORT,
	PEERPIN_CMD_WATCH,
	PEERPIN_CMD_UNWATCH,
};

/* the mmap() offset of a region; a region is at most PEERPIN_MMAP_SPAN - 1 MiB long */
#define PEERPIN_MMAP_SPAN (1ULL << 43)
#define PEERPIN_MMAP_OFFSET(region) (((__u64)(region) + 1) * PEERPIN_MMAP_SPAN)

/** enum peerpin_provider - the part of the kernel that pins, one for each kind of memory */
enum peerpin_provider {
	PEERPIN_PROVIDER_AUTO,	/* the core asks NV, TEGRA and HOST in this order */
	PEERPIN_PROVIDER_HOST,	/* system memory of the process */
	PEERPIN_PROVIDER_NV,	/* NVIDIA GPU memory (nvidia_p2p_get_pages) */
	PEERPIN_PROVIDER_TEGRA,	/* memory of an integrated NVIDIA GPU */
	PEERPIN_PROVIDER_DMABUF, /* a dma-buf of another driver; AUTO never asks it */
};

/** enum peerpin_pin_flags - the kind of pin */
enum peerpin_pin_flags {
	/*
	 * Persistent pin: pages stay pinned until unpinned, even if the memory is freed. Until
	 * then CUDA cannot reuse the pages. Only unbinding the GPU driver, or removing the GPU,
	 * revokes such a pin. NVIDIA GPUs only (nvidia_p2p_get_pages_persistent).
	 */
	PEERPIN_PIN_PERSISTENT = 1,
	/*
	 * Peers reach the memory by PCIe, through BAR1, even if the GPU is coherent with the CPU
	 * (Grace). With PERSISTENT only. EOPNOTSUPP: the GPU is not coherent, or its driver is
	 * older than 570 or was not known when peerpin_nv was built.
	 * nvidia_p2p_dma_map_pages() refuses such a pin. peerpin maps its BAR1 addresses itself;
	 * whether a peer reaches them depends on the platform.
	 */
	PEERPIN_PIN_PCIE = 2,
};

/** enum peerpin_caching - how the CPU may map a region */
enum peerpin_caching {
	PEERPIN_CACHING_NONE,	/* the CPU cannot map it */
	PEERPIN_CACHING_CACHED,
	PEERPIN_CACHING_COMBINED, /* write-combined */
	PEERPIN_CACHING_UNCACHED,
};

/** enum peerpin_reason - why a pin failed (out_reason; 0: not known) */
enum peerpin_reason {
	PEERPIN_REASON_NONE,
	/* no host memory that the process may write; with AUTO, no GPU driver pins it either */
	PEERPIN_REASON_NOT_MAPPED,
	/* the GPU driver returned EINVAL: memory freed, managed, of another process, or past one allocation */
	PEERPIN_REASON_VENDOR_REFUSED,
	PEERPIN_REASON_NO_BAR1,		/* the GPU driver returned ENOMEM: no BAR1 space for out_needed bytes */
	PEERPIN_REASON_NO_PROVIDER,	/* no provider for this kind of memory or pin is loaded */
	PEERPIN_REASON_MEMLOCK,		/* RLIMIT_MEMLOCK does not allow out_needed more bytes */
	/* too many regions in the file, or in the process (max_process_regions); too many watches */
	PEERPIN_REASON_LIMIT,
	PEERPIN_REASON_NO_MEMORY,	/* no kernel memory */
	PEERPIN_REASON_REVOKED,		/* memory freed, or a huge page split, while being pinned */
	/* the GPU driver returned another error: see errno. From libpeerpin also: no export or mapping of a dma-buf */
	PEERPIN_REASON_VENDOR_ERROR,
	PEERPIN_REASON_PROCESS_BYTES,	/* max_process_bytes allows only out_available more bytes */
	PEERPIN_REASON_TOTAL_BYTES,	/* max_total_bytes allows only out_available more bytes */
	PEERPIN_REASON_NO_API,		/* the GPU driver cannot make this kind of pin */
	PEERPIN_REASON_UNALIGNED,	/* a range of a dma-buf must begin and end on pages */
	PEERPIN_REASON_NOT_DMABUF,	/* @fd is not a dma-buf */
	PEERPIN_REASON_NOT_OWNED,	/* from libpeerpin: another process opened the file */
	PEERPIN_REASON_MANAGED,		/* from libpeerpin: managed memory moves */
	PEERPIN_REASON_NOT_GPU,		/* from libpeerpin: CUDA knows no such GPU memory here */
	PEERPIN_REASON_NOT_RDMA,	/* from libpeerpin: cuMemCreate() without gpuDirectRDMACapable, or Tegra */
	PEERPIN_REASON_POOL,		/* from libpeerpin: memory of a pool that devices cannot use */
	/* from libpeerpin: another allocation or cuMemMap() mapping begins in the range, at out_available */
	PEERPIN_REASON_SPANS,
	/* max_process_watched_bytes allows only out_available more bytes */
	PEERPIN_REASON_WATCHED_BYTES,
};

/**
 * struct peerpin_pin - ioctl(PEERPIN_IOC_PIN)
 * @size: sizeof(struct peerpin_pin)
 * @flags: enum peerpin_pin_flags
 * @addr: start of the range, any alignment; for a dma-buf: byte offset in it
 * @length: bytes, not 0
 * @provider: enum peerpin_provider
 * @va_space_token: second token, see @p2p_token; both 0: memory of the calling process
 * @p2p_token: CU_POINTER_ATTRIBUTE_P2P_TOKENS of the range (NV only). Tokens reach memory of
 *	any process, so they need CAP_SYS_PTRACE
 * @out_region: id of the new region
 * @out_slot: index of the region's word in the revocation page
 * @out_epoch: value of the region's word while the region is valid
 * @out_provider: provider that pinned the range
 * @out_addr: start of the region: @addr rounded down to @out_page_size. A range of a dma-buf
 *	is not rounded, and must begin and end on pages within the dma-buf
 * @out_length: bytes of the region, a multiple of @out_page_size
 * @out_page_size: bytes: NVIDIA GPU 65536, integrated GPU 4096, host memory and dma-buf the
 *	system's page size
 * @out_reason: enum peerpin_reason, also written if the call fails
 * @out_needed: bytes to which @out_reason refers, or 0
 * @fd: the dma-buf (DMABUF only, else 0); the caller may close it after the call
 * @out_caching: enum peerpin_caching
 * @out_available: bytes that were available when @out_needed were needed; 0: none, or not known
 *
 * On failure no region exists. Errors besides the common ones; @out_reason may say more:
 * EINVAL	the range is empty, overflows, is longer than PEERPIN_MMAP_SPAN - 1 MiB, or is not
 *		whole pages within the dma-buf; @fd is not 0 without DMABUF; no loaded provider
 *		can pin the range (with AUTO also GPU memory, if its provider is not loaded, or
 *		more than 1 TiB of it)
 * EPERM	tokens without CAP_SYS_PTRACE
 * EOPNOTSUPP	no provider for @provider and @flags is loaded, or the provider cannot make this pin
 * EBADF	@fd is not a dma-buf
 * ENOMEM	no BAR1 space, RLIMIT_MEMLOCK exceeded, no kernel memory, or more than 2 GiB of
 *		memory of an integrated GPU
 * EDQUOT	too many regions, or over max_process_bytes or max_total_bytes
 * ESTALE	freed, or a huge page split, while being pinned; PERSISTENT also: a PCI driver was
 *		unbound meanwhile. Call again once. peerpin itself tries a few times while host
 *		memory changes, and each time waits for the changes of the range in progress
 * EINTR	a signal arrived while the call waited for a page or for a change of the range, or
 *		before another try: call again. Only a fatal signal ends the wait for a page of a
 *		file, and none the wait for a FUSE server without asynchronous reads. The first pin
 *		or watch of a process also ends if the process is stopped, traced or frozen
 * others	from the provider (EIO, EHWPOISON...)
 * Guide 12.2.
 */
struct peerpin_pin {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 length;
	__u32 provider;
	__u32 va_space_token;
	__aligned_u64 p2p_token;
	__u32 out_region;
	__u32 out_slot;
	__u32 out_epoch;
	__u32 out_provider;
	__aligned_u64 out_addr;
	__aligned_u64 out_length;
	__u32 out_page_size;
	__u32 out_reason;
	__aligned_u64 out_needed;
	__s32 fd;
	__u32 out_caching;
	__aligned_u64 out_available;
};
#define PEERPIN_IOC_PIN _IO(PEERPIN_TYPE, PEERPIN_CMD_PIN)

/**
 * struct peerpin_unpin - ioctl(PEERPIN_IOC_UNPIN)
 * @size: sizeof(struct peerpin_unpin)
 * @region: id from PIN
 *
 * Waits for DMA in flight, removes the device mappings, unpins the pages and frees the id. If
 * DMA exceeds drain_timeout_ms, the kernel logs the device and the call returns; the pages stay
 * pinned until that DMA has ended. Revocable pages of an NVIDIA GPU then stay until they are
 * freed. For a dma-buf, the call also waits until the exporter has unmapped, without a timeout.
 * Unpinning a revoked region succeeds and frees its id.
 * Guide 12.3.
 */
struct peerpin_unpin {
	__u32 size;
	__u32 region;
};
#define PEERPIN_IOC_UNPIN _IO(PEERPIN_TYPE, PEERPIN_CMD_UNPIN)

/** enum peerpin_state - out_state of PEERPIN_IOC_QUERY */
enum peerpin_state {
	PEERPIN_STATE_LIVE = 1,
	PEERPIN_STATE_REVOKED,
};

/**
 * struct peerpin_query - ioctl(PEERPIN_IOC_QUERY)
 * @size: sizeof(struct peerpin_query)
 * @region: id from PIN
 * @out_state: enum peerpin_state
 * @out_provider: enum peerpin_provider
 * @out_addr: start of the region in the process; for a dma-buf: byte offset in it
 * @out_length: bytes
 * @out_page_size: bytes
 * @out_attached: number of DMA mappings now: one for each attached device, plus importers'
 * @out_extents: number of physically contiguous pieces; 0: revoked, a dma-buf, or not known
 *	because the kernel had no memory
 * @out_maps: number of DMA mappings made since the region was pinned
 * @out_flags: enum peerpin_pin_flags of the pin
 * @out_caching: enum peerpin_caching
 */
struct peerpin_query {
	__u32 size;
	__u32 region;
	__u32 out_state;
	__u32 out_provider;
	__aligned_u64 out_addr;
	__aligned_u64 out_length;
	__u32 out_page_size;
	__u32 out_attached;
	__u32 out_extents;
	__u32 out_maps;
	__u32 out_flags;
	__u32 out_caching;
};
#define PEERPIN_IOC_QUERY _IO(PEERPIN_TYPE, PEERPIN_CMD_QUERY)

/**
 * struct peerpin_export - ioctl(PEERPIN_IOC_EXPORT)
 * @size: sizeof(struct peerpin_export)
 * @region: id from PIN
 * @flags: must be 0; @out_fd is always close-on-exec
 * @out_fd: the dma-buf
 * @offset: bytes from the start of the region, a multiple of the system's page size
 * @length: bytes, a multiple of the system's page size, not 0
 *
 * Neither a close of @out_fd nor an importer's unmap unpins the region.
 *
 * Errors besides the common ones: ESTALE revoked; EINVAL not inside the region, or not whole
 * pages; EOPNOTSUPP the region is itself of a dma-buf (pass on that dma-buf); EDQUOT the region has
 * 1024 dma-bufs and importers; EIO the pages do not cover the region; EMFILE; ENFILE; ENOMEM.
 * Errors of an importer:
 * - attaching: EOPNOTSUPP no move_notify for revocable memory, struct pages needed for a BAR, or
 *   a device without DMA (Soft-RoCE); EDQUOT as above
 * - pinning revocable memory before Linux 7.1: EOPNOTSUPP, when it pins or when it maps
 * - mapping: ENODEV the region has ended; EIO the device cannot reach the memory
 */
struct peerpin_export {
	__u32 size;
	__u32 region;
	__u32 flags;
	__s32 out_fd;
	__aligned_u64 offset;
	__aligned_u64 length;
};
#define PEERPIN_IOC_EXPORT _IO(PEERPIN_TYPE, PEERPIN_CMD_EXPORT)

/**
 * struct peerpin_watch - ioctl(PEERPIN_IOC_WATCH)
 * @size: sizeof(struct peerpin_watch)
 * @flags: must be 0
 * @addr: start of the range, any alignment; the kernel watches whole pages
 * @length: bytes, not 0
 * @out_watch: id of the new watch
 * @out_slot: index of the watch's word in the revocation page
 * @out_epoch: value of the watch's word until a page of the range may change
 * @out_reason: enum peerpin_reason, also written if the call fails
 * @out_needed: bytes to which @out_reason refers, or 0
 * @out_available: bytes that were available when @out_needed were needed; 0: none
 *
 * The range is mapped memory of the process, readable or writable. Device memory (the BAR of a
 * GPU, for example) and memory without access are refused. The file's first watch selects the
 * address space: a program that was started by exec() must open another file.
 *
 * If another thread is changing pages of the range, the call waits for that thread. On failure no
 * watch exists. Errors besides the common ones; @out_reason may say more:
 * EINVAL	the range is empty, overflows, or is not memory as above (NOT_MAPPED)
 * EACCES	also: the process has called exec() since the file's first watch
 * EDQUOT	the file or the address space has PEERPIN_MAX_WATCHES (LIMIT), or over max_process_watched_bytes
 * ENOMEM	no kernel memory
 * EINTR	a signal arrived: call again
 */
struct peerpin_watch {
	__u32 size;
	__u32 flags;
	__aligned_u64 addr;
	__aligned_u64 length;
	__u32 out_watch;
	__u32 out_slot;
	__u32 out_epoch;
	__u32 out_reason;
	__aligned_u64 out_needed;
	__aligned_u64 out_available;
};
#define PEERPIN_IOC_WATCH _IO(PEERPIN_TYPE, PEERPIN_CMD_WATCH)

/* @watch of struct peerpin_unwatch: all watches of the file */
#define PEERPIN_WATCH_ALL 0xffffffffU

/**
 * struct peerpin_unwatch - ioctl(PEERPIN_IOC_UNWATCH)
 * @size: sizeof(struct peerpin_unwatch)
 * @watch: id from WATCH, or PEERPIN_WATCH_ALL
 *
 * Changes the word, if it has not changed yet, and frees the id. The last close of the file and
 * the exit of the owner do so for all watches. Error besides the common ones: ENOENT no such
 * watch.
 */
struct peerpin_unwatch {
	__u32 size;
	__u32 watch;
};
#define PEERPIN_IOC_UNWATCH _IO(PEERPIN_TYPE, PEERPIN_CMD_UNWATCH)

#endif

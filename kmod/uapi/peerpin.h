/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * peerpin: pin GPU or host memory once, let any PCIe device reach it.
 *
 * The protocol
 * ------------
 * A process opens /dev/peerpin and owns that file: each call made on it by
 * another process (after fork() or SCM_RIGHTS) is refused with EACCES.
 *
 * PEERPIN_CMD_PIN takes a pointer of the process, to GPU memory or to host memory
 * that it may write, and makes a *region*: a range of memory whose pages stay
 * where they are and which peer devices can be given. Its id is valid on this file
 * only. A driver of a peer device is handed (fd of this file, region id, offset,
 * length) through its own ioctl and never sees a pointer.
 *
 * A region ends in one of two ways. PEERPIN_CMD_UNPIN (or the last close of the
 * file, or the exit of the process) ends it on the user's wish. It is *revoked*
 * when its memory goes away while it is pinned: cuMemFree(), the end of a CUDA
 * context, munmap(), the GPU's driver being unbound. Before the freeing call
 * returns, the region answers ESTALE and no DMA begins; of GPU memory, DMA has
 * ended too (or drain_timeout_ms has passed) and device mappings are gone, while
 * host pages stay pinned until DMA in flight has ended. The id stays taken until
 * it is unpinned, so that it cannot come to mean something else. The kernel may
 * also revoke host memory that stays (it splits a huge page, say); pin it again.
 * Small GPU allocations share a block of 2 MiB with others, and those of a
 * stream-ordered pool go back to it: freeing one revokes nothing, and its region
 * goes on reaching what the block holds next.
 *
 * A child of fork() inherits the file and the mapping of the revocation page,
 * and so may keep the file open when its owner has closed it: unpin before.
 *
 * The revocation page
 * -------------------
 * mmap(PROT_READ, MAP_SHARED) at offset 0 gives an array of
 * PEERPIN_MAX_REGIONS 32-bit words, one per slot. A region is valid while
 * word[out_slot] == out_epoch. The word changes before the memory can be given
 * out again, so one load (acquire) tells whether a cached region is still good,
 * with no system call and no CUDA call. A slot is used again for later regions
 * with another epoch; one whose epochs are used up is retired. A persistent pin
 * is not revoked when its memory is freed, so its word does not tell. Mapping the
 * page for writing is EPERM.
 *
 * The CPU's view
 * --------------
 * mmap(MAP_SHARED) at offset PEERPIN_MMAP_OFFSET(id) + n gives the process that
 * pinned a view of the region from byte n on: n and the length multiples of the
 * system's page size, the end within the region, PROT_READ or with PROT_WRITE.
 * It is cached, write-combined or uncached as out_caching of QUERY says. A view
 * keeps the file open, but not the region: when that is revoked or unpinned, the
 * next access through any such view is a SIGBUS, at whatever address mremap()
 * put it. (Host memory that is unmapped stays pinned until its views are empty, a
 * moment later.) fork() does not hand it to the child. mmap() errors: ENOENT no
 * such region, EACCES not its process, or for writing on a file opened to read,
 * EINVAL beyond its end or MAP_PRIVATE, ESTALE revoked, EOPNOTSUPP the CPU cannot
 * map it (a dma-buf: map that), ENOMEM, EIO its pages are not what was pinned.
 * mmap2() of a 32-bit program has a 32-bit page offset: it reaches region 0 only.
 *
 * Other drivers' way in
 * ---------------------
 * PEERPIN_CMD_EXPORT makes a dma-buf of a region, for any driver that takes
 * one (ibv_reg_dmabuf_mr() for one). When the region ends the importer is told
 * to let go (move_notify). One that does not have its mapping back in time loses
 * it all the same where the memory goes; host memory and persistent pins stay
 * until it unmaps, and only these are given to an importer that cannot be told.
 * PEERPIN_CMD_PIN in turn takes the dma-buf of another driver's memory.
 *
 * Form of every call
 * ------------------
 * ioctl(fd, PEERPIN_IOC_x, &struct). Each struct begins with its own size;
 * reserved fields and unknown trailing bytes must be 0. Outputs are out_*.
 * Common errors: EINVAL a bad argument, size below the first version or a
 * reserved field not 0; E2BIG unknown trailing bytes not 0, or more than a page;
 * EOPNOTSUPP an unknown flag; ENOENT no such region; EACCES not the process that
 * opened the file; EFAULT struct not readable or writable; ENOTTY no such command.
 *
 * "seed N" is the section of NVIDIA's guide "Developing a Linux Kernel Module using
 * GPUDirect RDMA" (release 12.9) that a call implements.
 */
#ifndef _UAPI_PEERPIN_H
#define _UAPI_PEERPIN_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define PEERPIN_TYPE 0xB9

enum {
	PEERPIN_MAX_REGIONS = 131072,	/* of one file; ids are below it; words in the revocation page */
};

enum {
	PEERPIN_CMD_PIN = 0x80,
	PEERPIN_CMD_UNPIN,
	PEERPIN_CMD_QUERY,
	PEERPIN_CMD_EXPORT,
};

/* where mmap() finds a region; a region has no more bytes than that, less 1 MiB */
#define PEERPIN_MMAP_SPAN (1ULL << 43)
#define PEERPIN_MMAP_OFFSET(region) (((__u64)(region) + 1) * PEERPIN_MMAP_SPAN)

/** enum peerpin_provider - who pins: the owner of the memory */
enum peerpin_provider {
	PEERPIN_PROVIDER_AUTO,	/* the core asks each in turn */
	PEERPIN_PROVIDER_HOST,	/* system memory of the process */
	PEERPIN_PROVIDER_NV,	/* NVIDIA GPU memory (nvidia_p2p_get_pages) */
	PEERPIN_PROVIDER_TEGRA,	/* memory of an integrated NVIDIA GPU */
	PEERPIN_PROVIDER_DMABUF, /* a dma-buf of any driver; never by AUTO */
};

/** enum peerpin_pin_flags - what kind of pin */
enum peerpin_pin_flags {
	/*
	 * Lasts until unpinned, whoever frees the memory meanwhile, and what was
	 * freed is not given out again before. Revoked only when its GPU goes or
	 * the GPU's driver is unbound. NVIDIA GPUs
	 * (nvidia_p2p_get_pages_persistent) only.
	 */
	PEERPIN_PIN_PERSISTENT = 1,
};

/** enum peerpin_caching - how the CPU may map a region */
enum peerpin_caching {
	PEERPIN_CACHING_NONE,	/* it cannot */
	PEERPIN_CACHING_CACHED,
	PEERPIN_CACHING_COMBINED, /* write-combined */
	PEERPIN_CACHING_UNCACHED,
};

/** enum peerpin_reason - why a pin was refused (out_reason; 0: not known) */
enum peerpin_reason {
	PEERPIN_REASON_NONE,
	PEERPIN_REASON_NOT_MAPPED,	/* nobody knows this range: not GPU memory, not (writable) host memory */
	PEERPIN_REASON_VENDOR_REFUSED,	/* GPU driver: EINVAL; freed, managed, another process's, past one allocation */
	PEERPIN_REASON_NO_BAR1,		/* GPU driver: ENOMEM; the BAR1 aperture has no room for out_needed bytes */
	PEERPIN_REASON_NO_PROVIDER,	/* the provider asked for is not loaded */
	PEERPIN_REASON_MEMLOCK,		/* RLIMIT_MEMLOCK does not allow out_needed bytes more */
	PEERPIN_REASON_LIMIT,		/* too many regions: of this file, or of its process (max_process_regions) */
	PEERPIN_REASON_NO_MEMORY,	/* the kernel has no memory for its own records */
	PEERPIN_REASON_REVOKED,		/* freed, or a huge page of it split, while it was being pinned */
	PEERPIN_REASON_VENDOR_ERROR,	/* GPU driver, or the dma-buf's: any other error, in errno */
	PEERPIN_REASON_PROCESS_BYTES,	/* max_process_bytes does not allow out_needed bytes more, only out_available */
	PEERPIN_REASON_TOTAL_BYTES,	/* max_total_bytes, likewise */
	PEERPIN_REASON_NO_API,		/* the GPU driver that runs cannot make this kind of pin */
	PEERPIN_REASON_UNALIGNED,	/* a range of a dma-buf begins and ends on pages */
	PEERPIN_REASON_NOT_DMABUF,	/* @fd is not a dma-buf's */
	PEERPIN_REASON_NOT_OWNED,	/* said by libpeerpin: the file is another process's */
	PEERPIN_REASON_MANAGED,		/* said by libpeerpin: managed memory moves and cannot be pinned */
	PEERPIN_REASON_NOT_GPU,		/* said by libpeerpin: no GPU memory that CUDA knows in this process */
};

/**
 * struct peerpin_pin - ioctl(PEERPIN_IOC_PIN)
 * @size: sizeof(struct peerpin_pin)
 * @flags: enum peerpin_pin_flags
 * @addr: start of the range, any alignment; of a dma-buf: the offset in it
 * @length: bytes, not 0
 * @provider: enum peerpin_provider
 * @va_space_token: with @p2p_token; both 0: memory of the calling process
 * @p2p_token: CU_POINTER_ATTRIBUTE_P2P_TOKENS of the range (NV only). They give
 *	any process's memory, so CAP_SYS_PTRACE is needed to say them
 * @out_region: id of the new region
 * @out_slot: its word in the revocation page
 * @out_epoch: the value of that word while the region is valid
 * @out_provider: which provider took it
 * @out_addr: start of the region: @addr rounded down to @out_page_size; a range of
 *	a dma-buf is not rounded, and has to begin and end on pages within it
 * @out_length: bytes of the region, a multiple of @out_page_size
 * @out_page_size: granularity of the provider in bytes: NVIDIA GPU 65536,
 *	integrated GPU 4096, host and dma-buf the system's page size
 * @out_reason: enum peerpin_reason; written also when the call fails
 * @out_needed: bytes the reason speaks of, 0 when it speaks of none
 * @fd: the dma-buf (DMABUF only, else 0); may be closed afterwards
 * @out_caching: enum peerpin_caching
 * @out_available: bytes there were of what @out_needed speaks of; 0 also when
 *	that is not known
 *
 * Errors besides the common ones: EINVAL the range is empty, overflows, is longer
 * than PEERPIN_MMAP_SPAN less 1 MiB, is not one of pages within the dma-buf, or is
 * pinnable by nobody (with AUTO also a GPU's whose provider is not loaded); EPERM
 * tokens, without CAP_SYS_PTRACE; EOPNOTSUPP the provider that @provider or @flags
 * ask for is not loaded, or it cannot pin this kind of memory or in this way; EBADF
 * @fd is not a dma-buf's; ENOMEM no BAR1 space, RLIMIT_MEMLOCK or no kernel memory;
 * EDQUOT too many regions or bytes; ESTALE freed, or a huge page of it split, while
 * it was being pinned: call again once;
 * EINTR a signal arrived: call again; any other is the provider's (EIO,
 * EHWPOISON...). On failure no region exists.
 * @out_reason says more where more is known.
 * Implements seed 12.2.
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
 * Waits for DMA in flight, drops the device mappings, gives the pages back
 * and frees the id. A driver that does not end its DMA in time is named in the
 * kernel's log, and the pages stay pinned until it does; those of an NVIDIA GPU,
 * unless pinned with PEERPIN_PIN_PERSISTENT, until they are freed. Of a dma-buf it
 * also waits until the exporter has unmapped, however long that is. Unpinning a
 * revoked region succeeds (and frees the id).
 * Implements seed 12.3.
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
 * @out_addr: start of the region in the process
 * @out_length: bytes
 * @out_page_size: bytes
 * @out_attached: devices that hold a DMA mapping of it now
 * @out_extents: physically contiguous pieces it consists of; 0: revoked, a dma-buf,
 *	or not known for want of memory
 * @out_maps: DMA mappings made of it since it was pinned
 * @out_flags: enum peerpin_pin_flags it was pinned with
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
 * @flags: must be 0; the descriptor is close-on-exec
 * @out_fd: the dma-buf
 * @offset: bytes from the region's start, a multiple of the system's page size
 * @length: bytes, a multiple of it, not 0
 *
 * Closing @out_fd, or the importer's letting go, unpins nothing.
 *
 * Errors besides the common ones: ESTALE revoked; EINVAL not inside the region
 * or not on pages; EOPNOTSUPP the region is a dma-buf itself: hand that on;
 * EDQUOT it has 1024 dma-bufs and importers of them; EMFILE, ENFILE, ENOMEM. An
 * importer's attaching fails with EOPNOTSUPP when it cannot be told of the
 * region's end (see above), wants struct pages of a BAR or does no DMA (Soft-RoCE),
 * with EDQUOT likewise,
 * and its mapping with ENODEV once the region has ended, with EIO where the
 * device does not reach the memory.
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

#endif

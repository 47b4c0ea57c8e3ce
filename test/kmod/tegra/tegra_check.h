/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * /dev/tegra_check: a test program makes the calls of Tegra's nv-p2p.h one by one. The peer is any
 * 53C895A.
 *
 * An ioctl returns the result of its call: 0, or errno of the GPU driver. EBADSLT: the test passed
 * a wrong number. mmap() maps the pages of a slot for the CPU: see TEGRA_CHECK_MMAP().
 */
#ifndef _TEGRA_CHECK_H
#define _TEGRA_CHECK_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum {
	TEGRA_CHECK_SLOTS = 64,
	TEGRA_CHECK_MAPS = 4,
	TEGRA_CHECK_UNKNOWN = 0xff,
};

enum tegra_check_op {
	TEGRA_CHECK_GET,
	TEGRA_CHECK_PUT,
	TEGRA_CHECK_FREE,	/* call free_page_table outside the callback, or kfree() if the callback has run */
	TEGRA_CHECK_DMA_MAP,
	TEGRA_CHECK_DMA_UNMAP,
	TEGRA_CHECK_DMA_FREE,	/* call free_dma_mapping */
	TEGRA_CHECK_TABLE,
	TEGRA_CHECK_SEGMENT,
	TEGRA_CHECK_SEEN,	/* results of the calls that callbacks of the slot made */
	TEGRA_CHECK_COPY,	/* copy by the peer; EBUSY: a driver is bound to the peer */
	TEGRA_CHECK_CACHING,	/* caching of the process's mapping at va; a page must be present there */
	TEGRA_CHECK_RUIN_TABLE,	/* shrink a live page table to one entry of one page */
	TEGRA_CHECK_RUIN_MAP,	/* overwrite every byte of the mapping */
};

enum tegra_check_flags {
	/* GET: the callback ends the mappings and frees the page table. These flags change that: */
	TEGRA_CHECK_NO_CALLBACK = 1 << 0,
	TEGRA_CHECK_KEEP_MAPS = 1 << 1,
	TEGRA_CHECK_KEEP_TABLE = 1 << 2,
	TEGRA_CHECK_CALL_OTHERS = 1 << 3,	/* also call get_pages, dma_map_pages, put_pages */
	/*
	 * GET: delay kfree() of the page table until the next use of the slot. Needed if put_pages
	 * or dma_map_pages may run during a callback. Else a new pin's page table may get the
	 * address that these calls pass.
	 */
	TEGRA_CHECK_KFREE_LATER = 1 << 5,
	/* GET, PUT, DMA_MAP, DMA_UNMAP: pass NULL for the page table, the mapping or the result */
	TEGRA_CHECK_NULL = 1 << 4,
};

struct tegra_check {
	__u32 op;
	__u32 slot;
	__u32 map;
	__u32 flags;
	__aligned_u64 va;
	__aligned_u64 length;
	__u32 direction;	/* enum dma_data_direction */
	__u32 index;		/* TABLE: index of the page; SEGMENT: index of the segment */
	__u32 to_slot;		/* COPY: slot of the destination; copies start to start */
	__u32 to_map;
	union {
		struct {
			__u32 out_version;
			__u32 out_page_size;
			__aligned_u64 out_size;
			__u32 out_entries;
			__u32 reserved;
			__aligned_u64 out_phys;
		} table;
		struct {
			__u32 out_version;
			__u32 out_entries;
			__aligned_u64 out_bus;
			__u32 out_len;
		} segment;
		struct {
			__u32 out_count;
			__u32 out_tid;
			__s32 out_get;
			__s32 out_dma_map;
			__s32 out_put;
		} seen;
		struct {
			__u32 out_write_combined;
			__u32 out_kernel;	/* caching of the kernel's linear mapping, or UNKNOWN */
		} caching;
	};
};

#define TEGRA_CHECK_IOC _IOWR(0xBD, 0, struct tegra_check)

/* mmap() offset of a slot's pages; WRITE_COMBINED may be added */
#define TEGRA_CHECK_WRITE_COMBINED (1ull << 40)
#define TEGRA_CHECK_MMAP(slot) ((__u64)(slot) << 32)

#endif

/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * /dev/dmabuf_check: an importer of dma-bufs, controlled by a test program. Its device is an LSI
 * 53C895A without a driver.
 *
 * An ioctl returns the result of its call: 0, or errno of the exporter or kernel. EBADSLT: the slot
 * is in the wrong state (not attached, not mapped, already attached or already mapped).
 */
#ifndef _DMABUF_CHECK_H
#define _DMABUF_CHECK_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum {
	DMABUF_CHECK_SLOTS = 2048,
	DMABUF_CHECK_BYTES = 64,
};

enum dmabuf_check_kind {
	DMABUF_CHECK_STATIC,
	DMABUF_CHECK_DYNAMIC,		/* dynamic, with allow_peer2peer */
	DMABUF_CHECK_DYNAMIC_NO_P2P,
	DMABUF_CHECK_KINDS
};

struct dmabuf_check_attach {
	__u32 slot;
	__s32 fd;
	__u32 kind;
	__u32 unmap_in_notify;	/* 1: move_notify unmaps, as in drivers; 0: the mapping stays */
	__u32 notify_ms;	/* duration of move_notify */
	__u32 reserved;
};

/*
 * MAP, UNMAP, PIN, UNPIN. FENCE adds a fence to the dma-buf, and SIGNAL signals the fence. DETACH
 * signals the fence and puts the dma-buf. CUT removes the first page from the sg_table, as RDMA
 * drivers do.
 */
struct dmabuf_check_slot {
	__u32 slot;
	__u32 reserved;
};

/* State of a slot, and one entry of the sg_table */
struct dmabuf_check_look {
	__u32 slot;
	__u32 entry;
	__u32 out_notified;	/* calls of move_notify since ATTACH */
	__u32 out_entries;	/* 0: not mapped; the fields below are 0 */
	__u32 out_has_page;
	__u32 out_length;
	__aligned_u64 out_bus;
};

/* Hold the reservation lock for @ms, or until a signal arrives. */
struct dmabuf_check_hold {
	__u32 slot;
	__u32 ms;
};

/* Set limits of the device; 0: the default */
struct dmabuf_check_limit {
	__u32 max_segment;
	__u32 reserved;
	__aligned_u64 bus;	/* highest bus address; 0: no limit */
};

/* Read or write one entry of the sg_table by DMA of the device. */
struct dmabuf_check_dma {
	__u32 slot;
	__u32 entry;
	__u32 offset;
	__u32 write;
	__u8 data[DMABUF_CHECK_BYTES];
};

#define DMABUF_CHECK_ATTACH _IOW(0xBD, 0, struct dmabuf_check_attach)
#define DMABUF_CHECK_DETACH _IOW(0xBD, 1, struct dmabuf_check_slot)
#define DMABUF_CHECK_MAP _IOW(0xBD, 2, struct dmabuf_check_slot)
#define DMABUF_CHECK_UNMAP _IOW(0xBD, 3, struct dmabuf_check_slot)
#define DMABUF_CHECK_PIN _IOW(0xBD, 4, struct dmabuf_check_slot)
#define DMABUF_CHECK_UNPIN _IOW(0xBD, 5, struct dmabuf_check_slot)
#define DMABUF_CHECK_LOOK _IOWR(0xBD, 6, struct dmabuf_check_look)
#define DMABUF_CHECK_LIMIT _IOW(0xBD, 7, struct dmabuf_check_limit)
#define DMABUF_CHECK_DMA _IOWR(0xBD, 8, struct dmabuf_check_dma)
#define DMABUF_CHECK_FENCE _IOW(0xBD, 9, struct dmabuf_check_slot)
#define DMABUF_CHECK_SIGNAL _IOW(0xBD, 10, struct dmabuf_check_slot)
#define DMABUF_CHECK_HOLD _IOW(0xBD, 11, struct dmabuf_check_hold)
#define DMABUF_CHECK_CUT _IOW(0xBD, 12, struct dmabuf_check_slot)

#endif

/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * /dev/p2p_check: a test program makes the calls of nv-p2p.h one by one.
 *
 * An ioctl returns the result of its call: 0, or errno of the GPU driver. EBADSLT: the test passed
 * a wrong slot or map number.
 */
#ifndef _P2P_CHECK_H
#define _P2P_CHECK_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum {
	P2P_CHECK_SLOTS = 64,
	P2P_CHECK_MAPS = 4,
	P2P_CHECK_UNTOUCHED = 1,	/* out_version: the pointer was never stored */
	P2P_CHECK_ENOTSUPP = 524,	/* of the kernel; userspace has no name for it */
};

enum p2p_check_flags {
	/* GET */
	P2P_CHECK_NO_CALLBACK = 1 << 0,
	/* GET: the callback unmaps mappings, instead of freeing them */
	P2P_CHECK_IN_CALLBACK_UNMAP = 1 << 1,
	/* GET: the callback does not end the mappings; does not free the page table */
	P2P_CHECK_IN_CALLBACK_LEAVE_MAPS = 1 << 2,
	P2P_CHECK_IN_CALLBACK_LEAVE_TABLE = 1 << 3,
	/* GET: calls that the callback makes first */
	P2P_CHECK_IN_CALLBACK_PUT = 1 << 4,
	P2P_CHECK_IN_CALLBACK_GET = 1 << 5,
	P2P_CHECK_IN_CALLBACK_MAP = 1 << 6,
	/* GET, GET_PERSISTENT: put at the release of the file that made this call */
	P2P_CHECK_PUT_AT_CLOSE = 1 << 7,
	/* PUT and all below: pass a pointer that was never a page table; UNMAP, FREE_MAP: never a mapping */
	P2P_CHECK_WILD_TABLE = 1 << 8,
	P2P_CHECK_WILD_MAP = 1 << 9,
	/* UNMAP, FREE_MAP: pass the mapping that was unmapped or freed last at this slot and number */
	P2P_CHECK_OLD_MAP = 1 << 10,
	/* UNMAP: pass another device than MAP */
	P2P_CHECK_OTHER_PEER = 1 << 11,
	/* pass NULL for the page table; MAP, UNMAP: for the device */
	P2P_CHECK_NULL_TABLE = 1 << 12,
	P2P_CHECK_NULL_PEER = 1 << 13,
	/* GET, GET_PERSISTENT, MAP: pass NULL for the result */
	P2P_CHECK_NULL_RESULT = 1 << 14,
	/* GET, PUT, MAP: call with the lock held that the callback takes to end mappings, as UNMAP does */
	P2P_CHECK_LOCKED = 1 << 15,
};

/**
 * struct p2p_check_call - one call
 * @map: MAP, UNMAP, FREE_MAP: number of the mapping
 * @flags: of enum p2p_check_flags
 * @nv_flags: GET_PERSISTENT, PUT_PERSISTENT: flags as nv-p2p.h has them
 * @sleep_ms: GET: duration of the callback
 * @va: PUT, PUT_PERSISTENT: 0: as given to GET; POKE: physical address
 */
struct p2p_check_call {
	__u32 slot;
	__u32 map;
	__u32 flags;
	__u32 va_space;
	__aligned_u64 token;
	__aligned_u64 va;
	__aligned_u64 length;
	__u32 nv_flags;
	__u32 sleep_ms;
};

/* Check @out_version before reading the other results */
struct p2p_check_table {
	__u32 slot;
	__u32 map;
	__u32 page;
	__u32 out_version;
	__u32 out_page_size;
	__u32 out_entries;
	__u32 out_flags;
	__u32 out_map_version;		/* 0 without a map */
	__u32 out_map_page_size;
	__u32 out_map_entries;
	__u8 out_uuid[16];
	__aligned_u64 out_phys;
	__aligned_u64 out_bus;		/* 0 without a map */
};

/**
 * struct p2p_check_callback - results of calls in callbacks of the slot
 * @out_version: of the page table
 * @out_unmap: error, or 1: not called; like all below. EBADSLT: the call stored an unexpected pointer
 */
struct p2p_check_callback {
	__u32 slot;
	__u32 out_count;
	__u32 out_tid;
	__u32 out_version;
	__s32 out_unmap;
	__s32 out_free_map;
	__s32 out_free_table;
	__s32 out_put;
	__s32 out_get;
	__s32 out_map;
};

#define P2P_CHECK_GET _IOW(0xBC, 0, struct p2p_check_call)
#define P2P_CHECK_PUT _IOW(0xBC, 1, struct p2p_check_call)
#define P2P_CHECK_MAP _IOW(0xBC, 2, struct p2p_check_call)
#define P2P_CHECK_UNMAP _IOW(0xBC, 3, struct p2p_check_call)
#define P2P_CHECK_TABLE _IOWR(0xBC, 4, struct p2p_check_table)
#define P2P_CHECK_CALLBACK _IOWR(0xBC, 5, struct p2p_check_callback)
#define P2P_CHECK_GET_PERSISTENT _IOW(0xBC, 6, struct p2p_check_call)
#define P2P_CHECK_PUT_PERSISTENT _IOW(0xBC, 7, struct p2p_check_call)
#define P2P_CHECK_FREE_TABLE _IOW(0xBC, 8, struct p2p_check_call)
#define P2P_CHECK_FREE_MAP _IOW(0xBC, 9, struct p2p_check_call)
#define P2P_CHECK_WRITE_TABLE _IOW(0xBC, 10, struct p2p_check_call)	/* write to a freed page table */
#define P2P_CHECK_INIT_MAPPING _IOW(0xBC, 11, struct p2p_check_call)
#define P2P_CHECK_DESTROY_MAPPING _IOW(0xBC, 12, struct p2p_check_call)
#define P2P_CHECK_GET_RSYNC_REGISTERS _IOW(0xBC, 13, struct p2p_check_call)
#define P2P_CHECK_POKE _IOW(0xBC, 14, struct p2p_check_call)	/* change a byte without the driver, as a device does */
#define P2P_CHECK_REVERSE _IOW(0xBC, 15, struct p2p_check_call)	/* the order of pages[], as a consumer that sorts may */
#define P2P_CHECK_RUIN_TABLE _IOW(0xBC, 16, struct p2p_check_call)	/* live: one entry too many, all at address 0 */
#define P2P_CHECK_RUIN_PAGES _IOW(0xBC, 17, struct p2p_check_call)	/* of a live page table: the last pointer is wild */
#define P2P_CHECK_RUIN_MAP _IOW(0xBC, 18, struct p2p_check_call)	/* every byte of the mapping */

#endif

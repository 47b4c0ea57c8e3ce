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
	P2P_CHECK_UNTOUCHED = 1,	/* value of out_version: the pointer was never stored */
	P2P_CHECK_ENOTSUPP = 524,	/* errno of the kernel that userspace does not define */
};

enum p2p_check_flags {
	/* GET: pass no callback */
	P2P_CHECK_NO_CALLBACK = 1 << 0,
	/* GET: the callback unmaps the mappings, instead of freeing them */
	P2P_CHECK_IN_CALLBACK_UNMAP = 1 << 1,
	/* GET: the callback leaves the mappings, or the page table */
	P2P_CHECK_IN_CALLBACK_LEAVE_MAPS = 1 << 2,
	P2P_CHECK_IN_CALLBACK_LEAVE_TABLE = 1 << 3,
	/* GET: extra calls that the callback makes first */
	P2P_CHECK_IN_CALLBACK_PUT = 1 << 4,
	P2P_CHECK_IN_CALLBACK_GET = 1 << 5,
	P2P_CHECK_IN_CALLBACK_MAP = 1 << 6,
	/* GET, GET_PERSISTENT: the release of the calling file puts the pin */
	P2P_CHECK_PUT_AT_CLOSE = 1 << 7,
	/* PUT and all later calls: pass a wrong pointer, not a page table; UNMAP, FREE_MAP: not a mapping */
	P2P_CHECK_WILD_TABLE = 1 << 8,
	P2P_CHECK_WILD_MAP = 1 << 9,
	/* UNMAP, FREE_MAP: pass the last mapping that was unmapped or freed at this slot and number */
	P2P_CHECK_OLD_MAP = 1 << 10,
	/* UNMAP: pass another device than in MAP */
	P2P_CHECK_OTHER_PEER = 1 << 11,
	/* Pass NULL for the page table; MAP, UNMAP: pass NULL for the device */
	P2P_CHECK_NULL_TABLE = 1 << 12,
	P2P_CHECK_NULL_PEER = 1 << 13,
	/* GET, GET_PERSISTENT, MAP, GET_RSYNC_REGISTERS: pass NULL for the result */
	P2P_CHECK_NULL_RESULT = 1 << 14,
	/* GET, PUT, MAP: hold maps_lock during the call; UNMAP and the callback take this lock */
	P2P_CHECK_LOCKED = 1 << 15,
	/* PUT and all later calls: pass a pointer of poison bytes for the page table; UNMAP, FREE_MAP: for the mapping */
	P2P_CHECK_FREED_POINTER = 1 << 16,
	P2P_CHECK_UNSET_POINTER = 1 << 17,
};

/* Argument of the callback, which only compares it */
enum p2p_check_data {
	P2P_CHECK_DATA_SLOT,
	P2P_CHECK_DATA_FREED,		/* a kfree()d object */
	P2P_CHECK_DATA_FREED_INSIDE,	/* the last byte of a kfree()d object */
	P2P_CHECK_DATA_UNWRITTEN,	/* an object that is not written yet */
	P2P_CHECK_DATA_POISON,		/* the middle of an object with the contents of a freed object */
	P2P_CHECK_DATA_PAGES,		/* memory of no slab with the contents of a freed object and its red zones */
	P2P_CHECK_DATA_STATIC,		/* memory of the module with these contents */
	P2P_CHECK_DATA_NUMBER,		/* no pointer */
	P2P_CHECK_DATA_NULL,
	P2P_CHECK_DATA_KINDS
};

/**
 * struct p2p_check_call - one call
 * @map: MAP, UNMAP, FREE_MAP: number of the mapping
 * @flags: flags of enum p2p_check_flags
 * @nv_flags: GET_PERSISTENT, PUT_PERSISTENT: flags of nv-p2p.h
 * @sleep_ms: GET: duration of the callback
 * @data: GET: a value of enum p2p_check_data
 * @va: virtual address; PUT, PUT_PERSISTENT: 0 means the address of GET; POKE, PEEK: physical address
 * @length: GET, GET_PERSISTENT: bytes; PEEK: the address to copy to
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
	__u32 data;
	__u32 reserved;
};

/* Page table of a slot. If @out_version is P2P_CHECK_UNTOUCHED, the other results are unset. */
struct p2p_check_table {
	__u32 slot;
	__u32 map;
	__u32 page;
	__u32 out_version;
	__u32 out_page_size;
	__u32 out_entries;
	__u32 out_flags;
	__u32 out_map_version;		/* 0: no mapping */
	__u32 out_map_page_size;
	__u32 out_map_entries;
	__u8 out_uuid[16];
	__aligned_u64 out_phys;
	__aligned_u64 out_bus;		/* 0: no mapping */
};

/**
 * struct p2p_check_callback - results of the calls that a callback of the slot made
 * @out_version: version of the page table
 * @out_unmap: error; 1: not called; EBADSLT: the call stored an unexpected pointer. The same holds
 *	for all fields below.
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
#define P2P_CHECK_POKE _IOW(0xBC, 14, struct p2p_check_call)	/* change a byte as a device does, past the driver */
#define P2P_CHECK_PEEK _IOW(0xBC, 20, struct p2p_check_call)	/* copy a page of 4 KiB past the driver */
#define P2P_CHECK_WRITE_NEIGHBOURS _IO(0xBC, 19)	/* write to other memory of a page table's size */
#define P2P_CHECK_FREE_OBJECTS _IO(0xBC, 21)		/* free one kmalloc() object of each size from 16 to 4096 */
#define P2P_CHECK_END_WATCH _IO(0xBC, 22)		/* EEXIST: such an object was overwritten (slub_debug=P) */
#define P2P_CHECK_REVERSE _IOW(0xBC, 15, struct p2p_check_call)	/* reverse pages[], as a consumer that sorts may */
#define P2P_CHECK_RUIN_TABLE _IOW(0xBC, 16, struct p2p_check_call)	/* live: one entry too many, all at address 0 */
#define P2P_CHECK_RUIN_PAGES _IOW(0xBC, 17, struct p2p_check_call)	/* of a live page table: the last pointer is wild */
#define P2P_CHECK_RUIN_MAP _IOW(0xBC, 18, struct p2p_check_call)	/* overwrite every byte of the mapping */

#endif

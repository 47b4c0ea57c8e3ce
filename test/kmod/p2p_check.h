/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * /dev/p2p_check: lets a test program make the calls of nv-p2p.h one by one.
 *
 * A call's result is the ioctl's: 0, or errno as the GPU driver gave it.
 * EBADSLT is a slot or map number that the test got wrong.
 */
#ifndef _P2P_CHECK_H
#define _P2P_CHECK_H

#include <linux/ioctl.h>
#include <linux/types.h>

enum {
	P2P_CHECK_SLOTS = 64,
	P2P_CHECK_MAPS = 4,
	P2P_CHECK_UNTOUCHED = 1,	/* out_version: the pointer was never stored */
	P2P_CHECK_ENOTSUPP = 524,	/* the kernel's, which userspace has no name for */
};

enum p2p_check_flags {
	/* GET */
	P2P_CHECK_NO_CALLBACK = 1 << 0,
	/* GET: the callback unmaps what is mapped in place of freeing the mappings */
	P2P_CHECK_IN_CALLBACK_UNMAP = 1 << 1,
	/* GET: or leaves the mappings alone; and the page table */
	P2P_CHECK_IN_CALLBACK_LEAVE_MAPS = 1 << 2,
	P2P_CHECK_IN_CALLBACK_LEAVE_TABLE = 1 << 3,
	/* GET: what it calls besides, first of all */
	P2P_CHECK_IN_CALLBACK_PUT = 1 << 4,
	P2P_CHECK_IN_CALLBACK_GET = 1 << 5,
	P2P_CHECK_IN_CALLBACK_MAP = 1 << 6,
	/* GET, GET_PERSISTENT: put when the file of p2p_check that did this is released */
	P2P_CHECK_PUT_AT_CLOSE = 1 << 7,
	/* PUT and all below: a pointer that was never a table; UNMAP, FREE_MAP: never a mapping */
	P2P_CHECK_WILD_TABLE = 1 << 8,
	P2P_CHECK_WILD_MAP = 1 << 9,
	/* UNMAP, FREE_MAP: the mapping that this slot and number had before it was unmapped or freed */
	P2P_CHECK_OLD_MAP = 1 << 10,
	/* UNMAP: name another device than MAP did */
	P2P_CHECK_OTHER_PEER = 1 << 11,
	/* pass NULL for the table; MAP, UNMAP: for the device */
	P2P_CHECK_NULL_TABLE = 1 << 12,
	P2P_CHECK_NULL_PEER = 1 << 13,
	/* GET, GET_PERSISTENT, MAP: pass NULL for where the result goes */
	P2P_CHECK_NULL_RESULT = 1 << 14,
	/* GET, PUT, MAP: with the lock held that the callback takes to end mappings, as UNMAP always is */
	P2P_CHECK_LOCKED = 1 << 15,
};

/**
 * struct p2p_check_call - one call
 * @map: MAP, UNMAP, FREE_MAP: which of the slot's
 * @flags: of enum p2p_check_flags
 * @nv_flags: GET_PERSISTENT, PUT_PERSISTENT: flags as nv-p2p.h has them
 * @sleep_ms: GET: how long the callback takes
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

/* @out_version first: it says whether the rest is sense */
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
 * struct p2p_check_callback - what callbacks of the slot have seen
 * @out_version: of the table
 * @out_unmap: errors as returned, 1: not called; like all below. EBADSLT: the pointer was left in another way
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
#define P2P_CHECK_WRITE_TABLE _IOW(0xBC, 10, struct p2p_check_call)	/* as if it were the consumer's */
#define P2P_CHECK_INIT_MAPPING _IOW(0xBC, 11, struct p2p_check_call)
#define P2P_CHECK_DESTROY_MAPPING _IOW(0xBC, 12, struct p2p_check_call)
#define P2P_CHECK_GET_RSYNC_REGISTERS _IOW(0xBC, 13, struct p2p_check_call)
#define P2P_CHECK_POKE _IOW(0xBC, 14, struct p2p_check_call)	/* change a byte, as a device would: past the driver */
#define P2P_CHECK_REVERSE _IOW(0xBC, 15, struct p2p_check_call)	/* the order of pages[], as who sorts by address may */
#define P2P_CHECK_RUIN_TABLE _IOW(0xBC, 16, struct p2p_check_call)	/* a live one: an entry too many, at address 0 all */
#define P2P_CHECK_RUIN_PAGES _IOW(0xBC, 17, struct p2p_check_call)	/* of a live table: the last of pages[] is none */
#define P2P_CHECK_RUIN_MAP _IOW(0xBC, 18, struct p2p_check_call)	/* every byte of the mapping */

#endif

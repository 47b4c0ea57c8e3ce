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
};

enum p2p_check_flags {
	/* GET */
	P2P_CHECK_NO_CALLBACK = 1 << 0,
	/* GET: what the callback shall call */
	P2P_CHECK_IN_CALLBACK_UNMAP = 1 << 1,
	P2P_CHECK_IN_CALLBACK_FREE = 1 << 2,	/* free_page_table and free_dma_mapping */
	P2P_CHECK_IN_CALLBACK_PUT = 1 << 3,
	P2P_CHECK_IN_CALLBACK_GET = 1 << 4,
	P2P_CHECK_IN_CALLBACK_MAP = 1 << 5,
	/* PUT, MAP, UNMAP: a pointer that was never a table; UNMAP: map as well */
	P2P_CHECK_WILD_TABLE = 1 << 6,
	P2P_CHECK_WILD_MAP = 1 << 7,
	/* UNMAP: name another device than MAP did */
	P2P_CHECK_OTHER_PEER = 1 << 8,
	/* PUT, MAP, UNMAP: pass NULL for the table */
	P2P_CHECK_NULL_TABLE = 1 << 9,
};

struct p2p_check_call {
	__u32 slot;
	__u32 map;
	__u32 flags;
	__u32 va_space;
	__aligned_u64 token;
	__aligned_u64 va;
	__aligned_u64 length;
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
	__u32 out_reserved;
	__u8 out_uuid[16];
	__aligned_u64 out_phys;
	__aligned_u64 out_bus;		/* 0 without a map */
};

/* What callbacks of the slot have seen; errors as returned, 1: not called */
struct p2p_check_callback {
	__u32 slot;
	__u32 out_count;
	__u32 out_tid;
	__s32 out_unmap;
	__s32 out_free;
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

#endif

/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * /dev/emugpu: the control node of the emulated GPUs. Its users are the
 * look-alike CUDA library, the look-alike NVML and the tests; peerpin itself
 * never touches it.
 *
 * Each open file is a client and belongs to the process that opened it; a
 * call by another process (after fork()) is EACCES. GPU memory comes in
 * blocks of whole 2 MiB at a GPU virtual address that the client chooses; a
 * block belongs to the client's process and lives until it is freed or the
 * file is released, which revokes every pin of it, as closing the device file
 * of the real driver does.
 *
 * Errors, all calls: EINVAL bad argument or reserved field not 0; ENODEV no
 * such GPU; EACCES not the owner; ENOENT no block there; EFAULT.
 */
#ifndef _EMUGPU_H
#define _EMUGPU_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define EMUGPU_TYPE 0xBB
#define EMUGPU_BLOCK_SIZE (2u << 20)
#define EMUGPU_PAGE_SIZE (64u << 10)

/**
 * struct emugpu_info - EMUGPU_IOC_INFO: one GPU, by number
 * @gpu: which, from 0; ENODEV past the last
 * @out_domain: PCI address, with @out_bus, @out_device, @out_function
 * @out_vram_total: bytes of GPU memory
 * @out_vram_free: bytes not in any block
 * @out_bar1_total: bytes of the BAR1 aperture
 * @out_bar1_used: bytes of it that pins hold now
 * @out_bar1_reserved: bytes of it the driver keeps for itself
 */
struct emugpu_info {
	__u32 gpu;
	__u32 out_domain;
	__u8 out_bus;
	__u8 out_device;
	__u8 out_function;
	__u8 reserved[5];
	__u8 out_uuid[16];
	char out_name[64];
	__aligned_u64 out_vram_total;
	__aligned_u64 out_vram_free;
	__aligned_u64 out_bar1_total;
	__aligned_u64 out_bar1_used;
	__aligned_u64 out_bar1_reserved;
};

/**
 * struct emugpu_alloc - EMUGPU_IOC_ALLOC: a block of VRAM
 * @gpu: where
 * @va: GPU virtual address, multiple of 2 MiB, below 2^40, free in this process
 * @size: bytes, multiple of 2 MiB
 *
 * ENOMEM no VRAM left; EEXIST the range overlaps a block of this process.
 * New blocks hold whatever their last owner left, as on hardware.
 */
struct emugpu_alloc {
	__u32 gpu;
	__u32 reserved;
	__aligned_u64 va;
	__aligned_u64 size;
};

/** struct emugpu_free - EMUGPU_IOC_FREE: a whole block, by its address; runs the free callbacks of its pins first */
struct emugpu_free {
	__aligned_u64 va;
};

enum emugpu_copy_kind {
	EMUGPU_COPY_HTOD,
	EMUGPU_COPY_DTOH,
	EMUGPU_COPY_DTOD,
	EMUGPU_FILL,		/* src is the pattern, repeated each elem bytes */
};

/**
 * struct emugpu_copy - EMUGPU_IOC_COPY: the GPU's copy engine, synchronous
 * @kind: enum emugpu_copy_kind
 * @elem: FILL: 1, 2 or 4; else 0
 * @dst: GPU address, or process address for DTOH
 * @src: GPU address, process address for HTOD, or the pattern for FILL
 * @length: bytes, 0 does nothing; GPU ranges must lie inside one block each
 *
 * EBUSY the CPU window is closed (EMUGPU_TEST_CPU_WINDOW); EINTR the process
 * was killed on the way; ENODEV the GPU has gone since the block was made.
 */
struct emugpu_copy {
	__u32 kind;
	__u32 elem;
	__aligned_u64 dst;
	__aligned_u64 src;
	__aligned_u64 length;
};

enum emugpu_test_op {
	EMUGPU_TEST_COUNTS,		/* what exists now: pins, maps and blocks of the GPU, the rest of all */
	EMUGPU_TEST_TRANSLATE,		/* GPU address to BAR1 physical address */
	EMUGPU_TEST_CPU_WINDOW,		/* unmap or map the BAR in the kernel */
	EMUGPU_TEST_DELAY_CALLBACK,	/* sleep before each free callback */
	EMUGPU_TEST_REVOKE,		/* run the free callbacks of a block's pins, keep the block */
	EMUGPU_TEST_PEEK,		/* read VRAM by page number, whoever owns it */
	EMUGPU_TEST_FAIL,		/* the n-th next call of get_pages with valid arguments fails */
};

/**
 * struct emugpu_test - EMUGPU_IOC_TEST: for tests (CAP_SYS_ADMIN, else EPERM)
 * @op: enum emugpu_test_op
 * @gpu: which GPU
 */
struct emugpu_test {
	__u32 op;
	__u32 gpu;
	union {
		struct {
			__u32 out_pins;
			__u32 out_dma_maps;
			__u32 out_blocks;
			__u32 out_clients;
			__aligned_u64 out_get_calls;
			__aligned_u64 out_put_calls;
			__aligned_u64 out_callbacks;
			__aligned_u64 out_violations;
		} counts;
		struct {
			__aligned_u64 va;
			__aligned_u64 out_phys;
			__aligned_u64 out_vram_page;
		} translate;
		struct {
			__u32 mapped;	/* 0: no CPU mapping of the BAR exists and COPY is EBUSY */
			__u32 reserved;
		} cpu_window;
		struct {
			__u32 ms;
			__u32 reserved;
		} delay;
		struct {
			__aligned_u64 va;
		} revoke;
		struct {
			__aligned_u64 vram_page;
			__aligned_u64 buf;
			__u32 offset;
			__u32 length;
		} peek;
		struct {
			__u32 nth;	/* 1: the next one; 0: none */
			__s32 error;	/* negative errno to return */
		} fail;
		__aligned_u64 pad[8];
	};
};

#define EMUGPU_IOC_INFO _IOWR(EMUGPU_TYPE, 0, struct emugpu_info)
#define EMUGPU_IOC_ALLOC _IOW(EMUGPU_TYPE, 1, struct emugpu_alloc)
#define EMUGPU_IOC_FREE _IOW(EMUGPU_TYPE, 2, struct emugpu_free)
#define EMUGPU_IOC_COPY _IOW(EMUGPU_TYPE, 3, struct emugpu_copy)
#define EMUGPU_IOC_TEST _IOWR(EMUGPU_TYPE, 4, struct emugpu_test)

#endif

/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * /dev/emugpu: the control node of the emulated GPUs. Its users are the
 * look-alike CUDA library, the look-alike NVML and the tests; peerpin itself
 * never touches it.
 *
 * Each open file is a client and belongs to the process that opened it, and
 * there to the program that did; a call by another process (after fork()) or
 * program (after exec(), which may make it another user's) is EACCES. A client has
 *	memories	physical GPU memory, in whole 2 MiB
 *	contexts	which tokens are made for
 *	blocks		memory at a GPU virtual address that the client chooses
 * all of which go when the file is released. A block belongs to the client's
 * process and program; its end revokes every pin of it, as closing the device file of the
 * real driver does. Memory itself goes when no block, no handle and no
 * persistent pin has it any more. Who gets it next finds 0 in it, or what was left
 * by the same client.
 *
 * Errors, all calls: EINVAL bad argument or reserved field not 0; ENODEV no
 * such GPU; EACCES not the owner; ENOENT no such block, memory or context;
 * ENOMEM; EFAULT; ENOTTY no such call.
 */
#ifndef _EMUGPU_H
#define _EMUGPU_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* The NVIDIA driver whose behaviour is emulated, as other drivers and NVML ask for it. */
#define EMUGPU_DRIVER_VERSION "580.65.06"

#define EMUGPU_TYPE 0xBB
#define EMUGPU_GPUS_MAX 16
#define EMUGPU_BLOCK_SIZE (2u << 20)
#define EMUGPU_PAGE_SIZE (64u << 10)

/* The va_space of memory of no context, whose p2p_token is 0: what newer real drivers say of all memory */
#define EMUGPU_VA_SPACE_OF_NONE 0xfe00u

/**
 * struct emugpu_info - EMUGPU_IOC_INFO: one GPU, by number
 * @gpu: which, below EMUGPU_GPUS_MAX; ENODEV there is none of that number, but others may have greater ones
 * @out_domain: PCI address, with @out_bus, @out_device, @out_function
 * @out_integrated: 1: shares the host's memory (Tegra), has no PCI address and no BAR1
 * @out_vram_total: bytes of GPU memory
 * @out_vram_free: bytes not in any block
 * @out_bar1_total: bytes of the BAR1 aperture
 * @out_bar1_used: bytes of it that pins, and importers of dma-bufs, hold now
 * @out_bar1_reserved: bytes of it the driver keeps for itself
 */
struct emugpu_info {
	__u32 gpu;
	__u32 out_domain;
	__u8 out_bus;
	__u8 out_device;
	__u8 out_function;
	__u8 out_integrated;
	__u8 reserved[4];
	__u8 out_uuid[16];
	char out_name[64];
	__aligned_u64 out_vram_total;
	__aligned_u64 out_vram_free;
	__aligned_u64 out_bar1_total;
	__aligned_u64 out_bar1_used;
	__aligned_u64 out_bar1_reserved;
};

enum emugpu_alloc_flags {
	EMUGPU_ALLOC_NO_P2P = 1 << 0,		/* nvidia_p2p_get_pages() refuses it */
	EMUGPU_ALLOC_HOST = 1 << 1,		/* integrated GPUs: mmap() of /dev/emugpu at offset @va maps it */
	EMUGPU_ALLOC_WRITE_COMBINED = 1 << 2,	/* with HOST and new memory: mapped so by the process, the kernel and others */
};

/**
 * struct emugpu_alloc - EMUGPU_IOC_ALLOC: a block
 * @gpu: where new memory lies; not read with @memory
 * @flags: of enum emugpu_alloc_flags
 * @va: GPU virtual address, multiple of 2 MiB, below 2^40, free in this process
 * @size: bytes, multiple of 2 MiB
 * @context: whose tokens give access to it, or 0
 * @memory: what it shows, or 0: new memory that goes with the block
 * @offset: where in @memory it begins, multiple of 2 MiB
 *
 * ENOMEM no VRAM left, or the client has 16384 blocks; EEXIST the range
 * overlaps a block of this process; EBUSY new memory while the CPU window is
 * closed (EMUGPU_TEST_CPU_WINDOW); EOPNOTSUPP HOST on a GPU that is not
 * integrated. New memory holds 0, or what this client left in it and
 * never exported, nor anybody pinned persistently.
 */
struct emugpu_alloc {
	__u32 gpu;
	__u32 flags;
	__aligned_u64 va;
	__aligned_u64 size;
	__u32 context;
	__u32 memory;
	__aligned_u64 offset;
};

/** struct emugpu_free - EMUGPU_IOC_FREE: a whole block, by its address; runs the free callbacks of its pins first */
struct emugpu_free {
	__aligned_u64 va;
};

/**
 * struct emugpu_memory_new - EMUGPU_IOC_MEMORY: memory without an address
 * @gpu: where
 * @size: bytes, multiple of 2 MiB
 * @out_memory: for EMUGPU_IOC_ALLOC, until EMUGPU_IOC_DROP
 *
 * ENOMEM no VRAM left; EBUSY the CPU window is closed
 */
struct emugpu_memory_new {
	__u32 gpu;
	__u32 out_memory;
	__aligned_u64 size;
};

/**
 * struct emugpu_context_new - EMUGPU_IOC_CONTEXT: a pair of tokens
 * @gpu: where
 * @out_context: for EMUGPU_IOC_ALLOC, until EMUGPU_IOC_DROP
 * @out_p2p_token: random; whoever gives it to nvidia_p2p_get_pages() may pin what the context has
 * @out_va_space: belongs to it
 */
struct emugpu_context_new {
	__u32 gpu;
	__u32 out_context;
	__aligned_u64 out_p2p_token;
	__u32 out_va_space;
	__u32 reserved;
};

/** struct emugpu_drop - EMUGPU_IOC_DROP: a memory or context is not needed by its number any more; blocks keep theirs */
struct emugpu_drop {
	__u32 id;
	__u32 reserved;
};

/**
 * struct emugpu_export - EMUGPU_IOC_EXPORT: a dma-buf of a range
 * @va: multiple of 4 KiB, inside one block
 * @size: bytes, multiple of 4 KiB, not 0
 * @out_fd: close-on-exec
 *
 * It keeps the memory until it is closed, whatever becomes of the block; made
 * with the module's parameter dmabuf_dynamic set, it ends with the block.
 * Also of an EMUGPU_ALLOC_NO_P2P block, as the real driver does. EOPNOTSUPP: the GPU is integrated;
 * EMFILE, ENFILE.
 */
struct emugpu_export {
	__aligned_u64 va;
	__aligned_u64 size;
	__s32 out_fd;
	__u32 reserved;
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
	EMUGPU_TEST_DELAY_CALLBACK,	/* sleep before the next free callbacks */
	EMUGPU_TEST_REVOKE,		/* run the free callbacks of pins, end dynamic dma-bufs, keep the block */
	EMUGPU_TEST_PEEK,		/* read VRAM by page number, whoever owns it */
	EMUGPU_TEST_FAIL,		/* the n-th next call with valid arguments fails */
	EMUGPU_TEST_SCATTER,		/* whether new memory is fragmented; at first as the parameter says */
	EMUGPU_TEST_BAR1_FREE,		/* leave so much of BAR1 to pins, or all of it again */
	EMUGPU_TEST_VIOLATIONS,		/* how often a rule was broken, and by whom last */
	EMUGPU_TEST_PLAN,		/* record what consumers do, and act at the n-th; of all GPUs */
	EMUGPU_TEST_EVENTS,		/* what was recorded since PLAN */
	EMUGPU_TEST_REVOKE_ALL,		/* run the free callbacks of all revocable pins of the GPU, whoever's */
	EMUGPU_TEST_GUARD,		/* watch memory after its callback: a write is a breach; of all GPUs */
	EMUGPU_TEST_STASH,		/* hide what a process has pinned, and tell what was written to; of all GPUs */
};

/* What EMUGPU_TEST_FAIL can make fail */
enum emugpu_test_call {
	EMUGPU_CALL_GET_PAGES,			/* both kinds */
	EMUGPU_CALL_DMA_MAP_PAGES,
};

/* What a consumer of nv-p2p.h can do wrong; emu/common/node/monitor.c says each in words. */
enum emugpu_rule {
	EMUGPU_RULE_CALL_IN_CALLBACK,
	EMUGPU_RULE_SLOW_CALLBACK,
	EMUGPU_RULE_NO_CALLBACK,
	EMUGPU_RULE_UNALIGNED,
	EMUGPU_RULE_UNKNOWN_FLAGS,
	EMUGPU_RULE_NO_VERSION_CHECK,
	EMUGPU_RULE_PUT_BY_OTHER_PROCESS,
	EMUGPU_RULE_PUT_WRONG_ADDRESS,
	EMUGPU_RULE_PUT_WRONG_KIND,
	EMUGPU_RULE_PUT_OF_DEAD_TABLE,
	EMUGPU_RULE_MAP_OF_DEAD_TABLE,
	EMUGPU_RULE_UNMAP_OF_DEAD_TABLE,
	EMUGPU_RULE_UNMAP_OF_DEAD_MAPPING,
	EMUGPU_RULE_UNMAP_WRONG_PEER,
	EMUGPU_RULE_FREE_OF_DEAD_TABLE,
	EMUGPU_RULE_FREE_OF_DEAD_MAPPING,
	EMUGPU_RULE_FREE_OF_LIVE_TABLE,
	EMUGPU_RULE_WRITE_TO_DEAD_TABLE,
	EMUGPU_RULE_TABLE_LEAKED,
	EMUGPU_RULE_MAPPING_LEAKED,
	EMUGPU_RULE_PIN_LEAKED,
	EMUGPU_RULE_RSYNC_MISMATCH,
	EMUGPU_RULE_CALLBACK_WAITS,
	EMUGPU_RULE_DMA_AFTER_CALLBACK,
	EMUGPU_RULES
};

/* What a consumer calls, other than in its free callback */
enum emugpu_event_kind {
	EMUGPU_EVENT_PIN,		/* it is done, and about to return: this and the next two */
	EMUGPU_EVENT_PIN_PERSISTENT,
	EMUGPU_EVENT_MAP,
	EMUGPU_EVENT_UNMAP,		/* it has begun, and nothing is done yet: this and the next two */
	EMUGPU_EVENT_UNPIN,
	EMUGPU_EVENT_UNPIN_PERSISTENT,
};

/* What happens at an event */
enum emugpu_event_action {
	EMUGPU_ACT_NONE,
	EMUGPU_ACT_REVOKE,	/* all revocable pins of all GPUs, by another thread, as if memory had been freed */
	EMUGPU_ACT_KILL,	/* SIGKILL to the process */
};

/** struct emugpu_event - one of the list that EMUGPU_TEST_EVENTS gives */
struct emugpu_event {
	__u32 kind;	/* enum emugpu_event_kind */
	__s32 pid;	/* the process, as the initial namespace numbers it */
	char module[48];	/* whose call it was */
};

/**
 * struct emugpu_test - EMUGPU_IOC_TEST: for tests (CAP_SYS_ADMIN, else EPERM)
 * @op: enum emugpu_test_op
 * @gpu: which GPU
 *
 * EOPNOTSUPP: what an integrated GPU does not have.
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
			__u32 count;	/* so many callbacks; 0: all of them */
		} delay;
		struct {
			__aligned_u64 va;	/* in the block; with length: where the pin begins */
			__aligned_u64 length;	/* of the pin; 0: all pins and dma-bufs of the block */
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
			__u32 call;	/* enum emugpu_test_call */
			__u32 out_left;	/* of the @nth before; 0: that call has come */
		} fail;
		struct {
			__u32 on;
			__u32 reserved;
		} scatter;
		struct {
			__aligned_u64 bytes;	/* multiple of 64 KiB, beside the reserve; ~0: no limit */
		} bar1_free;
		struct {
			__u32 rule;		/* enum emugpu_rule */
			__u32 reserved;
			__aligned_u64 out_count;
			char out_module[48];	/* empty: none */
		} violations;
		struct {
			__u32 nth;	/* event, from 1, to act at; 0: only record */
			__u32 action;	/* enum emugpu_event_action */
		} plan;
		struct {
			__aligned_u64 buf;	/* of struct emugpu_event, in order */
			__u32 max;		/* so many at most; the first 256 are kept */
			__u32 out_count;	/* all there were */
		} events;
		struct {
			__aligned_u64 reserved;
		} revoke_all;
		struct {
			__u32 ms;	/* to wait for a write; 0: off */
			__u32 reserved;
		} guard;
		struct {
			__u32 on;		/* 1: EBUSY if it is; 0: ENOENT if it is not */
			__u32 out_changed;	/* on 0: pages of 64 KiB written since */
			/*
			 * on 1: of the process of this number, ESRCH: there is none; 0: of all. What others
			 * have as well, by their pins, mapped dma-bufs or views, stays as it is.
			 */
			__u32 pid;
			__u32 reserved;
		} stash;
		__aligned_u64 pad[8];
	};
};

#define EMUGPU_IOC_INFO _IOWR(EMUGPU_TYPE, 0, struct emugpu_info)
#define EMUGPU_IOC_ALLOC _IOW(EMUGPU_TYPE, 1, struct emugpu_alloc)
#define EMUGPU_IOC_FREE _IOW(EMUGPU_TYPE, 2, struct emugpu_free)
#define EMUGPU_IOC_COPY _IOW(EMUGPU_TYPE, 3, struct emugpu_copy)
#define EMUGPU_IOC_TEST _IOWR(EMUGPU_TYPE, 4, struct emugpu_test)
#define EMUGPU_IOC_MEMORY _IOWR(EMUGPU_TYPE, 5, struct emugpu_memory_new)
#define EMUGPU_IOC_CONTEXT _IOWR(EMUGPU_TYPE, 6, struct emugpu_context_new)
#define EMUGPU_IOC_DROP _IOW(EMUGPU_TYPE, 7, struct emugpu_drop)
#define EMUGPU_IOC_EXPORT _IOWR(EMUGPU_TYPE, 8, struct emugpu_export)

#endif

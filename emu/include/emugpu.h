/* SPDX-License-Identifier: (GPL-2.0 WITH Linux-syscall-note) OR MIT */
/*
 * /dev/emugpu: the control node of the emulated GPUs. The emulated CUDA library, the emulated NVML
 * and the tests use this node; peerpin itself never does.
 *
 * Each open file is a client, owned by the process and program that opened the file. Calls by
 * another process (after fork()) or another program (after exec(), perhaps as another user) fail
 * with EACCES. A client has
 *	memories	physical GPU memory, in multiples of 2 MiB
 *	contexts	pairs of tokens
 *	blocks		memory at a GPU virtual address that the client chooses
 * Releasing the file frees all objects of the client, like closing the device file of NVIDIA's
 * driver. The end of a block revokes its pins. Memory is freed when no memory number, block,
 * dma-buf or persistent pin refers to it. New memory holds zeros, or old data of the same client.
 *
 * Errors of all calls:
 *	EINVAL: bad argument, or a reserved field is not 0
 *	ENODEV: no such GPU
 *	EACCES: the caller is not the owner of the file
 *	ENOENT: no such block, memory or context
 *	ENOTTY: no such call
 *	ENOMEM, EFAULT
 */
#ifndef _EMUGPU_H
#define _EMUGPU_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * Versions of NVIDIA's driver that the emulator plays, one for each branch (module parameter
 * driver_version). The played version is in /sys/module/emugpu/version.
 */
#define EMUGPU_DRIVER_VERSION "580.65.06"	/* the default */
#define EMUGPU_DRIVER_VERSIONS \
	{ "535.288.01", "550.163.01", "570.211.01", EMUGPU_DRIVER_VERSION, "595.45.04", "610.43.02" }

#define EMUGPU_TYPE 0xBB
#define EMUGPU_GPUS_MAX 16
#define EMUGPU_BLOCK_SIZE (2u << 20)
#define EMUGPU_PAGE_SIZE (64u << 10)

/* The va_space of memory without a context (p2p_token 0). Newer NVIDIA drivers report this value for all memory. */
#define EMUGPU_VA_SPACE_OF_NONE 0xfe00u

/**
 * struct emugpu_info - EMUGPU_IOC_INFO: one GPU, by number
 * @gpu: number, below EMUGPU_GPUS_MAX; numbers may have gaps (ENODEV)
 * @out_domain: part of the PCI address, as are @out_bus, @out_device, @out_function
 * @out_integrated: 1 for an integrated GPU (Tegra), which has host memory, no PCI address, no BAR1
 * @out_coherent: 1 for a GPU that is coherent with the CPU (Grace)
 * @out_vram_total: bytes of GPU memory
 * @out_vram_free: bytes that can be allocated now
 * @out_bar1_total: bytes of the BAR1 aperture
 * @out_bar1_used: bytes of BAR1 in use by pins and importers of dma-bufs
 * @out_bar1_reserved: bytes of BAR1 reserved for the driver
 */
struct emugpu_info {
	__u32 gpu;
	__u32 out_domain;
	__u8 out_bus;
	__u8 out_device;
	__u8 out_function;
	__u8 out_integrated;
	__u8 out_coherent;
	__u8 reserved[3];
	__u8 out_uuid[16];
	char out_name[64];
	__aligned_u64 out_vram_total;
	__aligned_u64 out_vram_free;
	__aligned_u64 out_bar1_total;
	__aligned_u64 out_bar1_used;
	__aligned_u64 out_bar1_reserved;
};

enum emugpu_alloc_flags {
	EMUGPU_ALLOC_NO_P2P = 1 << 0,		/* peers cannot pin the block */
	EMUGPU_ALLOC_HOST = 1 << 1,		/* integrated GPUs: mmap() of the node at offset @va maps the block */
	EMUGPU_ALLOC_WRITE_COMBINED = 1 << 2,	/* all CPU mappings are write-combined; only with HOST and new memory */
};

/**
 * struct emugpu_alloc - EMUGPU_IOC_ALLOC: a block
 * @gpu: GPU for new memory; ignored with @memory
 * @flags: enum emugpu_alloc_flags
 * @va: GPU virtual address, multiple of 2 MiB, below 2^40, free in this process
 * @size: bytes, multiple of 2 MiB
 * @context: number of the context with the tokens for the block, or 0
 * @memory: number of the memory of the block; 0: new memory, freed with the block
 * @offset: start of the block in @memory, multiple of 2 MiB
 *
 * Errors:
 *	ENOMEM: no VRAM is left, or the client has 16384 blocks
 *	EEXIST: the range overlaps a block of this process
 *	EBUSY: new memory, and a test has closed the CPU window (EMUGPU_TEST_CPU_WINDOW)
 *	EOPNOTSUPP: HOST on a GPU that is not integrated
 *
 * New memory holds zeros, or old data of the same client. Memory that was exported or pinned
 * persistently is always cleared.
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

/** struct emugpu_free - EMUGPU_IOC_FREE: frees the block at @va; first runs the free callbacks of its pins */
struct emugpu_free {
	__aligned_u64 va;
};

/**
 * struct emugpu_memory_new - EMUGPU_IOC_MEMORY: memory without an address
 * @gpu: GPU of the memory
 * @size: bytes, multiple of 2 MiB
 * @out_memory: number of the memory for EMUGPU_IOC_ALLOC, valid until EMUGPU_IOC_DROP
 *
 * Errors: ENOMEM: no VRAM is left; EBUSY: the CPU window is closed (EMUGPU_TEST_CPU_WINDOW).
 */
struct emugpu_memory_new {
	__u32 gpu;
	__u32 out_memory;
	__aligned_u64 size;
};

/**
 * struct emugpu_context_new - EMUGPU_IOC_CONTEXT: a pair of tokens
 * @gpu: GPU of the context
 * @out_context: number of the context for EMUGPU_IOC_ALLOC, valid until EMUGPU_IOC_DROP
 * @out_p2p_token: first token, random; each caller of nvidia_p2p_get_pages() with this token may pin
 *	the context's memory
 * @out_va_space: second token of the pair
 */
struct emugpu_context_new {
	__u32 gpu;
	__u32 out_context;
	__aligned_u64 out_p2p_token;
	__u32 out_va_space;
	__u32 reserved;
};

/** struct emugpu_drop - EMUGPU_IOC_DROP: drops the number of a memory or context; blocks keep their references */
struct emugpu_drop {
	__u32 id;
	__u32 reserved;
};

enum emugpu_export_flags {
	EMUGPU_EXPORT_PCIE = 1 << 0,		/* importers use BAR1; coherent GPUs only */
};

/**
 * struct emugpu_export - EMUGPU_IOC_EXPORT: a dma-buf of a range
 * @va: multiple of 4 KiB
 * @size: bytes, multiple of 4 KiB, not 0; the range may span blocks of one GPU without gaps between them
 * @flags: enum emugpu_export_flags
 * @out_fd: file descriptor of the dma-buf, close-on-exec
 *
 * The dma-buf keeps the memory until the dma-buf is closed, even if the block is freed before. With
 * the module parameter dmabuf_dynamic, freeing one of the blocks revokes the dma-buf. EMUGPU_ALLOC_NO_P2P
 * blocks can be exported, too, as with NVIDIA's driver.
 *
 * Errors: EOPNOTSUPP: the GPU is integrated, or PCIE and the GPU is not coherent; EMFILE; ENFILE.
 */
struct emugpu_export {
	__aligned_u64 va;
	__aligned_u64 size;
	__s32 out_fd;
	__u32 flags;
};

enum emugpu_copy_kind {
	EMUGPU_COPY_HTOD,
	EMUGPU_COPY_DTOH,
	EMUGPU_COPY_DTOD,
	EMUGPU_FILL,		/* src is the pattern of elem bytes, repeated over the range */
};

/**
 * struct emugpu_copy - EMUGPU_IOC_COPY: the GPU's copy engine, synchronous
 * @kind: enum emugpu_copy_kind
 * @elem: FILL: 1, 2 or 4; else 0
 * @dst: GPU address; for DTOH: process address
 * @src: GPU address; for HTOD: process address; for FILL: the pattern
 * @length: bytes; 0 does nothing; each GPU range must lie inside one block
 *
 * Errors:
 *	EBUSY: the CPU window is closed (EMUGPU_TEST_CPU_WINDOW)
 *	EINTR: a fatal signal ended the copy
 *	ENODEV: the GPU was removed after the block was made
 */
struct emugpu_copy {
	__u32 kind;
	__u32 elem;
	__aligned_u64 dst;
	__aligned_u64 src;
	__aligned_u64 length;
};

enum emugpu_test_op {
	EMUGPU_TEST_COUNTS,		/* count pins, maps, blocks of the GPU; clients, calls, violations of all GPUs */
	EMUGPU_TEST_TRANSLATE,		/* GPU address to BAR1 physical address */
	EMUGPU_TEST_CPU_WINDOW,		/* close the CPU window (unmap the BAR in the kernel), or open it */
	EMUGPU_TEST_DELAY_CALLBACK,	/* sleep before the next free callbacks */
	EMUGPU_TEST_REVOKE,		/* revoke pins and dynamic dma-bufs as if the block was freed, but keep it */
	EMUGPU_TEST_PEEK,		/* read VRAM of any owner, by page number */
	EMUGPU_TEST_FAIL,		/* make the n-th next call of a consumer fail; only valid calls count */
	EMUGPU_TEST_SCATTER,		/* fragment new memory or not; the module parameter scatter is the default */
	EMUGPU_TEST_BAR1_FREE,		/* limit the BAR1 space available to pins, or lift the limit */
	EMUGPU_TEST_VIOLATIONS,		/* number of violations of a rule, and the module of the last violation */
	EMUGPU_TEST_PLAN,		/* record the events of consumers, and act at the n-th event; all GPUs */
	EMUGPU_TEST_EVENTS,		/* read the events since EMUGPU_TEST_PLAN */
	EMUGPU_TEST_REVOKE_ALL,		/* run the free callbacks of all revocable pins of the GPU */
	EMUGPU_TEST_GUARD,		/* look at memory after its free callback: a user is a violation; all GPUs */
	EMUGPU_TEST_STASH,		/* hide a process's pinned memory, then count the pages written; all GPUs */
	EMUGPU_TEST_MOVE,		/* contents arrive late after a dynamic map, with a fence; all GPUs */
};

/* Logged (behind "emugpu: ") before the first revocation after EMUGPU_TEST_GUARD */
#define EMUGPU_REVOKED "memory that is pinned or shared as a dma-buf is revoked"

/* Calls that EMUGPU_TEST_FAIL can fail */
enum emugpu_test_call {
	EMUGPU_CALL_GET_PAGES,			/* nvidia_p2p_get_pages() and its persistent variant */
	EMUGPU_CALL_DMA_MAP_PAGES,
	EMUGPU_CALL_ATTACH,			/* an importer attaches to a dma-buf, or maps it */
	EMUGPU_CALL_IMPORT,
};

/* Rules for consumers of nv-p2p.h; emu/common/node/monitor.c has a text for each rule */
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
	EMUGPU_RULE_MAPPED_AFTER_CALLBACK,
	EMUGPU_RULE_USE_OF_DEAD_TABLE,
	EMUGPU_RULE_NO_RESERVATION_LOCK,
	EMUGPU_RULE_UNMAP_OF_DEAD_IMPORT,
	EMUGPU_RULE_DETACH_IN_USE,
	EMUGPU_RULE_NO_PEER2PEER,
	EMUGPU_RULE_DMA_BEFORE_FENCE,
	EMUGPU_RULE_DMA_MAPPED_AFTER_CALLBACK,
	EMUGPU_RULE_NULL_RESULT,
	EMUGPU_RULE_USE_AFTER_FREE,
	EMUGPU_RULE_UNINITIALISED_MEMORY,
	EMUGPU_RULES
};

/* A consumer's call outside its free callback, and outside invalidate_mappings */
enum emugpu_event_kind {
	EMUGPU_EVENT_PIN,		/* this and the next two events: at the end of a successful call */
	EMUGPU_EVENT_PIN_PERSISTENT,
	EMUGPU_EVENT_MAP,
	EMUGPU_EVENT_UNMAP,		/* this and the next two events: at the start of the call */
	EMUGPU_EVENT_UNPIN,
	EMUGPU_EVENT_UNPIN_PERSISTENT,
	/*
	 * Calls of an importer of dma-bufs: at the end of a successful attach or map, at the start of unmap or detach.
	 * REVOKE does not wait for an importer that holds the reservation lock.
	 */
	EMUGPU_EVENT_ATTACH,
	EMUGPU_EVENT_IMPORT,
	EMUGPU_EVENT_UNIMPORT,
	EMUGPU_EVENT_DETACH,
};

/* Action at an event */
enum emugpu_event_action {
	EMUGPU_ACT_NONE,
	EMUGPU_ACT_REVOKE,	/* revoke all revocable pins of all GPUs in another thread, as if memory was freed */
	EMUGPU_ACT_KILL,	/* send SIGKILL to the calling process */
	EMUGPU_ACT_REVOKE_LATER,	/* as REVOKE, but 50 ms later, and the calling thread goes on meanwhile */
};

/** struct emugpu_event - an event in the list of EMUGPU_TEST_EVENTS */
struct emugpu_event {
	__u32 kind;	/* enum emugpu_event_kind */
	__s32 pid;	/* process, in the initial pid namespace */
	char module[48];	/* calling module */
};

/**
 * struct emugpu_test - EMUGPU_IOC_TEST: for tests (CAP_SYS_ADMIN, else EPERM)
 * @op: enum emugpu_test_op
 * @gpu: number of the GPU
 *
 * EOPNOTSUPP: @op is not available on an integrated GPU.
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
			__u32 out_imports;	/* mappings of dma-bufs, as the rest of all GPUs */
			__u32 out_notified;	/* notifications of importers */
			__aligned_u64 out_import_calls;
		} counts;
		struct {
			__aligned_u64 va;
			__aligned_u64 out_phys;
			__aligned_u64 out_vram_page;
		} translate;
		struct {
			__u32 mapped;	/* 0: unmap the BAR, so that COPY fails with EBUSY; 1: map it again */
			__u32 reserved;
		} cpu_window;
		struct {
			__u32 ms;
			__u32 count;	/* number of callbacks to delay; 0: all */
		} delay;
		struct {
			__aligned_u64 va;	/* start of the pin; with @length 0: any address in the block */
			__aligned_u64 length;	/* length of the pin; 0: all pins and dynamic dma-bufs of the block */
		} revoke;
		struct {
			__aligned_u64 vram_page;
			__aligned_u64 buf;
			__u32 offset;
			__u32 length;
		} peek;
		struct {
			__u32 nth;	/* 1: the next call; 0: none */
			__s32 error;	/* negative errno to return */
			__u32 call;	/* enum emugpu_test_call */
			__u32 out_left;	/* what was left of the previous @nth; 0: it has failed a call, or was 0 */
		} fail;
		struct {
			__u32 on;
			__u32 reserved;
		} scatter;
		struct {
			__aligned_u64 bytes;	/* BAR1 bytes left for pins, multiple of 64 KiB; ~0: no limit */
		} bar1_free;
		struct {
			__u32 rule;		/* enum emugpu_rule */
			__u32 reserved;
			__aligned_u64 out_count;
			char out_module[48];	/* module of the last violation; empty: none */
		} violations;
		struct {
			__u32 nth;	/* number of the event to act at, from 1; 0: only record */
			__u32 action;	/* enum emugpu_event_action */
		} plan;
		struct {
			__aligned_u64 buf;	/* array of struct emugpu_event, filled in order */
			__u32 max;		/* size of buf in events; the record keeps only the first 256 events */
			__u32 out_count;	/* number of all events since PLAN */
		} events;
		struct {
			__u32 oldest_first;	/* 1: in the order of allocation; 0: the newest first */
			__u32 reserved;
		} revoke_all;
		struct {
			__u32 ms;	/* time to wait for a write; 0: off */
			/*
			 * 1: search the processes' page tables for CPU mappings and the IOMMU for DMA mappings, and watch the last two dead
			 * tables of discrete GPUs for accesses; 0: off
			 */
			__u32 mapped;
		} guard;
		struct {
			__u32 on;		/* 1: begin to hide (EBUSY: already begun); 0: end (ENOENT: not begun) */
			__u32 out_changed;	/* @on 0: number of 64 KiB pages written since @on 1 */
			/*
			 * @on 1: process that pinned the memory (ESRCH: no such process), or 0 for
			 * all processes. Pages with other users (pins, mapped dma-bufs or CPU
			 * mappings) are not hidden.
			 */
			__u32 pid;
			__u32 reserved;
		} stash;
		struct {
			__u32 ms;		/* duration of a move, at most 1000; 0: no moves */
			__u32 reserved;
		} move;
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

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The InfiniBand core's interface to clients for memory that get_user_pages() does not know.
 * MLNX_OFED, DOCA and kernels of some distributions install the interface as <rdma/peer_mem.h>.
 * Upstream Linux has no such header; this file has the same layout.
 *
 * If the core cannot register memory itself, it calls acquire of each client until a client returns
 * 1. Then it calls get_pages and dma_map of this client. When the registration ends, it calls
 * dma_unmap, put_pages and release. In between the client may call invalidate, which waits for
 * calls in progress and ends the device's DMA. Without INVALIDATE_UNMAPS, invalidate also calls
 * dma_unmap and put_pages.
 */
#ifndef _PEERPIN_IBPEER_PEER_MEM_H
#define _PEERPIN_IBPEER_PEER_MEM_H

#include <linux/types.h>

/* Tells clients that core_context is a u64. In old versions core_context was a pointer. */
#define PEER_MEM_U64_CORE_CONTEXT

enum {
	IB_PEER_MEMORY_NAME_MAX = 64,
	IB_PEER_MEMORY_VER_MAX = 16,
};

struct device;
struct sg_table;

/**
 * struct peer_memory_client - maps one kind of memory
 * @name: name of the client, and of its directory in /sys/kernel/mm/memory_peers
 * @version: text; if its last byte is not 0, this struct is the first member of a
 *	struct peer_memory_client_ex
 * @acquire: return 1 and fill in @context, or return 0: not memory of this client. @unused and
 *	@unused_name are NULL
 * @get_pages: pin the memory. From here on the client may call invalidate with @core_context.
 *	@write is 1 and @sgt NULL
 * @dma_map: fill in @sgt for @dev, and @nmap with its number of entries
 * @dma_unmap: undo dma_map; @dev does not use the memory any more. Return 0
 * @put_pages: undo get_pages
 * @get_page_size: return the alignment of the entries of @sgt; if larger than PAGE_SIZE, the
 *	core cuts the entries at multiples of this size
 * @release: undo acquire
 */
struct peer_memory_client {
	char name[IB_PEER_MEMORY_NAME_MAX];
	char version[IB_PEER_MEMORY_VER_MAX];
	int (*acquire)(unsigned long addr, size_t size, void *unused,
		       char *unused_name, void **context);
	int (*get_pages)(unsigned long addr, size_t size, int write, int force,
			 struct sg_table *sgt, void *context, u64 core_context);
	int (*dma_map)(struct sg_table *sgt, void *context, struct device *dev,
		       int dmasync, int *nmap);
	int (*dma_unmap)(struct sg_table *sgt, void *context,
			 struct device *dev);
	void (*put_pages)(struct sg_table *sgt, void *context);
	unsigned long (*get_page_size)(void *context);
	void (*release)(void *context);
};

enum {
	PEER_MEM_INVALIDATE_UNMAPS = 1 << 0,
};

struct peer_memory_client_ex {
	struct peer_memory_client client;
	size_t ex_size;
	u32 flags;
};

typedef int (*invalidate_peer_memory)(void *handle, u64 core_context);

/*
 * @invalidate: where the core stores its invalidate function; NULL: the memory stays until release.
 * Return: the handle, or NULL.
 */
void *ib_register_peer_memory_client(const struct peer_memory_client *client,
				     invalidate_peer_memory *invalidate);

/* Waits until no registration of the client is left. */
void ib_unregister_peer_memory_client(void *handle);

#endif

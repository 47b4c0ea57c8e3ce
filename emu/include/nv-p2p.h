/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * nv-p2p.h: the kernel interface by which a GPU driver lets drivers of other PCIe devices access
 * GPU memory (NVIDIA GPUDirect RDMA guide 13.3).
 *
 * Written from scratch. Names, layouts and prototypes equal those of NVIDIA's driver 580 and later.
 * So a consumer built with either header works with the emulated driver and with NVIDIA's driver.
 * The symbol CRCs (CONFIG_MODVERSIONS) of prototypes without struct pci_dev are equal, too. CRCs depend
 * on struct tags, member names and types, so do not change tags, names and types here.
 *
 * Context: every function may sleep.
 */
#ifndef _NV_P2P_H_
#define _NV_P2P_H_

#include <linux/types.h>

struct pci_dev;

/*
 * A version has the major number in the upper half and the minor number in the lower half. Each
 * structure begins with its version. A consumer compares this version with the version for which
 * the consumer was built. The consumer may read the structure if the major numbers are equal and
 * the structure's minor number is not lower.
 */
#define NVIDIA_P2P_MAJOR_VERSION_MASK 0xffff0000
#define NVIDIA_P2P_MINOR_VERSION_MASK 0x0000ffff
#define NVIDIA_P2P_MAJOR_VERSION(v) (((v) & NVIDIA_P2P_MAJOR_VERSION_MASK) >> 16)
#define NVIDIA_P2P_MINOR_VERSION(v) ((v) & NVIDIA_P2P_MINOR_VERSION_MASK)
#define NVIDIA_P2P_MAJOR_VERSION_MATCHES(p, v) \
	(NVIDIA_P2P_MAJOR_VERSION((p)->version) == NVIDIA_P2P_MAJOR_VERSION(v))
#define NVIDIA_P2P_VERSION_COMPATIBLE(p, v) \
	(NVIDIA_P2P_MAJOR_VERSION_MATCHES(p, v) && \
	 NVIDIA_P2P_MINOR_VERSION((p)->version) >= NVIDIA_P2P_MINOR_VERSION(v))

#define NVIDIA_P2P_PAGE_TABLE_VERSION 0x00020000
#define NVIDIA_P2P_PAGE_TABLE_VERSION_COMPATIBLE(p) \
	NVIDIA_P2P_VERSION_COMPATIBLE(p, NVIDIA_P2P_PAGE_TABLE_VERSION)

#define NVIDIA_P2P_DMA_MAPPING_VERSION 0x00020003
#define NVIDIA_P2P_DMA_MAPPING_VERSION_COMPATIBLE(p) \
	NVIDIA_P2P_VERSION_COMPATIBLE(p, NVIDIA_P2P_DMA_MAPPING_VERSION)

#define NVIDIA_P2P_GPU_UUID_LEN 16

/*
 * On GPUs before 2012, init_mapping made the token for get_pages. init_mapping and
 * destroy_mapping are still exported, but return -ENOTSUPP.
 */
enum {
	NVIDIA_P2P_ARCHITECTURE_TESLA = 0,
	NVIDIA_P2P_ARCHITECTURE_FERMI,
	NVIDIA_P2P_ARCHITECTURE_CURRENT = NVIDIA_P2P_ARCHITECTURE_FERMI
};

#define NVIDIA_P2P_PARAMS_VERSION 0x00010001

enum {
	NVIDIA_P2P_PARAMS_ADDRESS_INDEX_GPU = 0,
	NVIDIA_P2P_PARAMS_ADDRESS_INDEX_THIRD_PARTY_DEVICE,
	NVIDIA_P2P_PARAMS_ADDRESS_INDEX_MAX = NVIDIA_P2P_PARAMS_ADDRESS_INDEX_THIRD_PARTY_DEVICE
};

typedef struct nvidia_p2p_params {
	uint32_t version;
	uint32_t architecture;
	union nvidia_p2p_mailbox_addresses {
		struct {
			uint64_t wmb_addr;
			uint64_t wmb_data;
			uint64_t rreq_addr;
			uint64_t rcomp_addr;
			uint64_t reserved[2];
		} fermi;
	} addresses[NVIDIA_P2P_PARAMS_ADDRESS_INDEX_MAX + 1];
} nvidia_p2p_params_t;

int nvidia_p2p_init_mapping(uint64_t p2p_token, struct nvidia_p2p_params *params,
			    void (*destroy_callback)(void *data), void *data);
int nvidia_p2p_destroy_mapping(uint64_t p2p_token);

enum nvidia_p2p_page_size_type {
	NVIDIA_P2P_PAGE_SIZE_4KB = 0,
	NVIDIA_P2P_PAGE_SIZE_64KB,
	NVIDIA_P2P_PAGE_SIZE_128KB,
	NVIDIA_P2P_PAGE_SIZE_COUNT
};

/* Only physical_address is used; the registers belong to obsolete GPUs. */
typedef struct nvidia_p2p_page {
	uint64_t physical_address;
	union nvidia_p2p_request_registers {
		struct {
			uint32_t wreqmb_h;
			uint32_t rreqmb_h;
			uint32_t rreqmb_0;
			uint32_t reserved[3];
		} fermi;
	} registers;
} nvidia_p2p_page_t;

/* A flag of the page table: the CPU may map the pages cacheable (coherent GPUs) */
#define NVIDIA_P2P_PAGE_TABLE_FLAGS_CPU_CACHEABLE 0x1

/*
 * page_size is an enum nvidia_p2p_page_size_type. The driver owns the table: a
 * consumer may read the table from get_pages until put_pages, or until the
 * consumer's free callback returns.
 */
typedef struct nvidia_p2p_page_table {
	uint32_t version;
	uint32_t page_size;
	struct nvidia_p2p_page **pages;
	uint32_t entries;
	uint8_t *gpu_uuid;
	uint32_t flags;
} nvidia_p2p_page_table_t;

/* Bus addresses of the pages of a page table, for one peer device. */
typedef struct nvidia_p2p_dma_mapping {
	uint32_t version;
	enum nvidia_p2p_page_size_type page_size_type;
	uint32_t entries;
	uint64_t *dma_addresses;
	void *private;
	struct pci_dev *pci_dev;
} nvidia_p2p_dma_mapping_t;

/**
 * nvidia_p2p_get_pages - pin a range of GPU virtual memory
 * @p2p_token: from CUDA, like @va_space; both 0: memory of the calling process
 * @va_space: see @p2p_token
 * @virtual_address: multiple of 64 KiB
 * @length: multiple of 64 KiB, not 0
 * @page_table: result; after a failure *@page_table may point to freed memory
 * @free_callback: called in the thread that frees the memory, with the driver's API lock held;
 *	get_pages, put_pages and dma_map_pages return -EIO in the callback
 * @data: passed to @free_callback; must never be freed, because put_pages does not report whether
 *	the callback has run
 *
 * Errors: -EINVAL: bad argument, or not GPU memory; -ENOMEM: no BAR1 space, or out of memory; -EIO:
 * all other errors.
 */
int nvidia_p2p_get_pages(uint64_t p2p_token, uint32_t va_space, uint64_t virtual_address, uint64_t length,
			 struct nvidia_p2p_page_table **page_table, void (*free_callback)(void *data), void *data);

/**
 * nvidia_p2p_put_pages - undo get_pages
 * @p2p_token: as given to get_pages, like @va_space and @virtual_address
 * @va_space: see @p2p_token
 * @virtual_address: see @p2p_token
 * @page_table: result of get_pages; NULL does nothing
 *
 * Waits for a running free callback. Returns 0 even if the callback has already run.
 * Must be called by the process that called get_pages; a call by another process has
 * no effect.
 */
int nvidia_p2p_put_pages(uint64_t p2p_token, uint32_t va_space, uint64_t virtual_address,
			 struct nvidia_p2p_page_table *page_table);

/* Flags of nvidia_p2p_get_pages_persistent() */
#define NVIDIA_P2P_CAP_GET_PAGES_PERSISTENT_API
#define NVIDIA_P2P_FLAGS_DEFAULT 0
#define NVIDIA_P2P_FLAGS_FORCE_BAR1_MAPPING 1

/**
 * nvidia_p2p_get_pages_persistent - pin without a callback
 * @virtual_address: multiple of 64 KiB
 * @length: multiple of 64 KiB, not 0
 * @page_table: result
 * @flags: NVIDIA_P2P_FLAGS_x
 *
 * The memory stays until put_pages_persistent, even after cuMemFree() or the end of the process.
 */
int nvidia_p2p_get_pages_persistent(uint64_t virtual_address, uint64_t length,
				    struct nvidia_p2p_page_table **page_table, uint32_t flags);

/**
 * nvidia_p2p_put_pages_persistent - undo get_pages_persistent
 * @virtual_address: as given to get_pages_persistent
 * @page_table: result of get_pages_persistent; NULL does nothing
 * @flags: must be 0
 */
int nvidia_p2p_put_pages_persistent(uint64_t virtual_address, struct nvidia_p2p_page_table *page_table,
				    uint32_t flags);

/**
 * nvidia_p2p_free_page_table - free a page table in the free callback; put_pages fails there
 * @page_table: result of get_pages
 *
 * Call once. Present drivers do nothing here, but old drivers free the table.
 */
int nvidia_p2p_free_page_table(struct nvidia_p2p_page_table *page_table);

/**
 * nvidia_p2p_dma_map_pages - bus addresses of pinned pages for one device
 * @peer: the device that will do the DMA
 * @page_table: result of get_pages
 * @dma_mapping: result
 *
 * Errors: -EINVAL: bad argument; -ENOMEM; -EIO: @peer cannot reach the memory. When the free
 * callback returns, the driver undoes the remaining mappings.
 */
int nvidia_p2p_dma_map_pages(struct pci_dev *peer, struct nvidia_p2p_page_table *page_table,
			     struct nvidia_p2p_dma_mapping **dma_mapping);

/**
 * nvidia_p2p_dma_unmap_pages - undo dma_map_pages
 * @peer: as given to dma_map_pages, like @page_table
 * @page_table: see @peer
 * @dma_mapping: result of dma_map_pages
 *
 * Allowed in the free callback.
 */
int nvidia_p2p_dma_unmap_pages(struct pci_dev *peer, struct nvidia_p2p_page_table *page_table,
			       struct nvidia_p2p_dma_mapping *dma_mapping);

/**
 * nvidia_p2p_free_dma_mapping - free a mapping in the free callback; dma_unmap_pages may be
 *	called there instead
 * @dma_mapping: result of dma_map_pages
 *
 * Call once. Present drivers do nothing here, but old drivers free the mapping.
 */
int nvidia_p2p_free_dma_mapping(struct nvidia_p2p_dma_mapping *dma_mapping);

/*
 * rsync: on some hosts, a message to a GPU over a link such as NVLink may overtake
 * PCIe writes. The GPU driver can ask the link's driver to wait for the writes.
 */
#define NVIDIA_P2P_RSYNC_DRIVER_VERSION 0x00010001
#define NVIDIA_P2P_RSYNC_DRIVER_VERSION_COMPATIBLE(p) \
	NVIDIA_P2P_VERSION_COMPATIBLE(p, NVIDIA_P2P_RSYNC_DRIVER_VERSION)

/*
 * The GPU driver calls put_relaxed_ordering_mode after each successful get_relaxed_ordering_mode.
 * The mode must not change in between. wait_for_rsync must not sleep.
 */
typedef struct nvidia_p2p_rsync_driver {
	uint32_t version;
	int (*get_relaxed_ordering_mode)(int *mode, void *data);
	void (*put_relaxed_ordering_mode)(int mode, void *data);
	void (*wait_for_rsync)(struct pci_dev *gpu, void *data);
} nvidia_p2p_rsync_driver_t;

/**
 * nvidia_p2p_register_rsync_driver - offer the callbacks to the GPU driver
 * @driver: version and all three functions; stays valid until unregistered
 * @data: passed to each function
 *
 * Errors: -EINVAL: bad argument; -EBUSY: a driver is registered, or a GPU is in use.
 */
int nvidia_p2p_register_rsync_driver(nvidia_p2p_rsync_driver_t *driver, void *data);

/**
 * nvidia_p2p_unregister_rsync_driver - undo register_rsync_driver
 * @driver: as registered, like @data
 * @data: see @driver
 */
void nvidia_p2p_unregister_rsync_driver(nvidia_p2p_rsync_driver_t *driver, void *data);

#define NVIDIA_P2P_RSYNC_REG_INFO_VERSION 0x00020001
#define NVIDIA_P2P_RSYNC_REG_INFO_VERSION_COMPATIBLE(p) \
	NVIDIA_P2P_VERSION_COMPATIBLE(p, NVIDIA_P2P_RSYNC_REG_INFO_VERSION)

typedef struct nvidia_p2p_rsync_reg {
	void *ptr;
	size_t size;
	struct pci_dev *ibmnpu;
	struct pci_dev *gpu;
	uint32_t cluster_id;
	uint32_t socket_id;
} nvidia_p2p_rsync_reg_t;

typedef struct nvidia_p2p_rsync_reg_info {
	uint32_t version;
	nvidia_p2p_rsync_reg_t *regs;
	size_t entries;
} nvidia_p2p_rsync_reg_info_t;

/* Registers of obsolete NVLink bridges: always -ENODEV; before 580, -EINVAL for NULL. */
int nvidia_p2p_get_rsync_registers(nvidia_p2p_rsync_reg_info_t **reg_info);
void nvidia_p2p_put_rsync_registers(nvidia_p2p_rsync_reg_info_t *reg_info);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * gdrapi: GPU memory in the CPU's address space, and copies to and from it.
 *
 * This is the interface of NVIDIA's gdrcopy 2.6 in our own words, implemented
 * on /dev/peerpin by libpeerpin: programs written or built for libgdrapi.so.2
 * run with either. doc/gdrapi.md says what is different.
 *
 * Functions that return int return 0 or a positive errno, of which these are
 * common: EINVAL a handle that is not open or not pinned, or an argument that
 * makes no sense; EACCES in a child of fork(), which must not use what its
 * parent opened. All may be called from any thread, also on the same handle;
 * only gdr_close() must be the last call with its handle.
 *
 * Environment:
 *	GDRCOPY_ENABLE_LOGGING		set: what fails is said on stderr, with the reason
 *	PEERPIN_GDR_PERSISTENT=0	pins end when their memory is freed (see gdr_pin_buffer())
 */
#ifndef GDRAPI_H
#define GDRAPI_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#define MAJOR_VERSION_SHIFT 16
#define MINOR_VERSION_MASK (((uint32_t)1 << MAJOR_VERSION_SHIFT) - 1)

#define GDR_API_MAJOR_VERSION 2
#define GDR_API_MINOR_VERSION 6
#define GDR_API_VERSION ((GDR_API_MAJOR_VERSION << MAJOR_VERSION_SHIFT) | GDR_API_MINOR_VERSION)

#define MINIMUM_GDRDRV_MAJOR_VERSION 2
#define MINIMUM_GDRDRV_MINOR_VERSION 0
#define MINIMUM_GDRDRV_VERSION ((MINIMUM_GDRDRV_MAJOR_VERSION << MAJOR_VERSION_SHIFT) | MINIMUM_GDRDRV_MINOR_VERSION)

#define GPU_PAGE_SHIFT 16
#define GPU_PAGE_SIZE (1UL << GPU_PAGE_SHIFT)
#define GPU_PAGE_OFFSET (GPU_PAGE_SIZE - 1)
#define GPU_PAGE_MASK (~GPU_PAGE_OFFSET)

#ifdef __cplusplus
extern "C" {
#endif

struct gdr;
typedef struct gdr *gdr_t;

typedef struct gdr_mh_s {
	unsigned long h;
} gdr_mh_t;

/** gdr_open - NULL with errno set: ENOENT peerpin.ko is not loaded; EACCES; ENOMEM */
gdr_t gdr_open(void);

/** gdr_close - unmap and unpin what is left, and free @g */
int gdr_close(gdr_t g);

typedef enum gdr_pin_flags {
	GDR_PIN_FLAG_DEFAULT = 0,
	GDR_PIN_FLAG_FORCE_PCIE = 1,	/* not supported: EINVAL */
} gdr_pin_flags_t;

/**
 * gdr_pin_buffer - pin GPU memory of this process
 * @addr: first byte, any alignment; gdr_map() wants that of the system's page
 * @size: bytes, not 0
 * @p2p_token: with @va_space: what CU_POINTER_ATTRIBUTE_P2P_TOKENS says of
 *	@addr; both 0: none. Ignored of callers without CAP_SYS_PTRACE
 * @handle: of the pin, until gdr_unpin_buffer() or gdr_close()
 *
 * Pins are persistent where the GPU's driver makes such: what is freed stays,
 * and stays mapped, until it is unpinned. With an older driver, or with
 * PEERPIN_GDR_PERSISTENT=0, they end with their memory: the next access to the
 * mapping is a SIGBUS, and gdr_get_callback_flag() tells.
 *
 * Errors: EINVAL no GPU memory of this process, or not all of it, or not what
 * the tokens are for; ENOMEM the BAR1 aperture has no room, or no memory;
 * EDQUOT a limit of peerpin.ko; EOPNOTSUPP it has no provider for this GPU;
 * ESTALE freed meanwhile.
 */
int gdr_pin_buffer(gdr_t g, unsigned long addr, size_t size, uint64_t p2p_token,
		   uint32_t va_space, gdr_mh_t *handle);
int gdr_pin_buffer_v2(gdr_t g, unsigned long addr, size_t size, uint32_t flags,
		      gdr_mh_t *handle);

/** gdr_unpin_buffer - unmap it if it is mapped, and give the memory back */
int gdr_unpin_buffer(gdr_t g, gdr_mh_t handle);

/** gdr_get_callback_flag - *@flag is 1 when the memory was freed under the pin, else 0 */
int gdr_get_callback_flag(gdr_t g, gdr_mh_t handle, int *flag);

typedef enum gdr_mapping_type {
	GDR_MAPPING_TYPE_NONE = 0,
	GDR_MAPPING_TYPE_WC = 1,	/* write-combined */
	GDR_MAPPING_TYPE_CACHING = 2,
	GDR_MAPPING_TYPE_DEVICE = 3,	/* uncached */
	GDR_MAPPING_TYPE_MAX,
} gdr_mapping_type_t;

/**
 * struct gdr_info_v2 - what is known of a pin
 * @va: GPU address that gdr_map() maps first: that of gdr_pin_buffer(), rounded
 *	down to the system's page
 * @mapped_size: bytes from there that can be mapped
 * @page_size: bytes; granularity of the pin
 * @tm_cycles: nanoseconds that pinning took
 * @cycles_per_ms: 1000000
 * @mapped: 1: it is mapped
 * @wc_mapping: 1: write-combined
 * @mapping_type: how it is mapped
 */
typedef struct gdr_info_v2 {
	uint64_t va;
	uint64_t mapped_size;
	uint32_t page_size;
	uint64_t tm_cycles;
	uint32_t cycles_per_ms;
	unsigned mapped:1;
	unsigned wc_mapping:1;
	gdr_mapping_type_t mapping_type;
} gdr_info_v2_t;
typedef gdr_info_v2_t gdr_info_t;

int gdr_get_info_v2(gdr_t g, gdr_mh_t handle, gdr_info_v2_t *info);

/* The function of that name is for programs built for gdrcopy 1: no mapping_type. */
#define gdr_get_info gdr_get_info_v2

typedef enum gdr_map_flags {
	GDR_MAP_FLAG_DEFAULT = 0,	/* as peerpin.ko maps this memory */
	GDR_MAP_FLAG_REQ_WC_MAPPING = 1,
	GDR_MAP_FLAG_REQ_CACHE_MAPPING = 2,
	GDR_MAP_FLAG_REQ_DEVICE_MAPPING = 3,
} gdr_map_flags_t;

/**
 * gdr_map - let the CPU read and write pinned memory
 * @va: where its first byte is; it was pinned at a multiple of the system's
 *	page size, which need not be one of the GPU's
 * @size: bytes, not 0, rounded up to the system's page; the end lies within
 *	what was pinned, which is rounded up to the GPU's
 *
 * A pin has one mapping at a time. A child of fork() has none.
 *
 * Errors: EINVAL the address or the size is not one of these, or an unknown
 * flag; EAGAIN it is mapped; EOPNOTSUPP this memory cannot be mapped in that
 * way; ESTALE it was freed; ENOMEM.
 */
int gdr_map(gdr_t g, gdr_mh_t handle, void **va, size_t size);
int gdr_map_v2(gdr_t g, gdr_mh_t handle, void **ptr_va, size_t size, int flags);

/** gdr_unmap - end a mapping, all of it; EINVAL: none begins at @va */
int gdr_unmap(gdr_t g, gdr_mh_t handle, void *va, size_t size);

/**
 * gdr_copy_to_mapping - write GPU memory
 * @map_d_ptr: where in the mapping, any alignment
 * @h_ptr: host memory, any alignment
 *
 * What was written has left the CPU when the call returns. EINVAL: @handle is
 * not mapped.
 */
int gdr_copy_to_mapping(gdr_mh_t handle, void *map_d_ptr, const void *h_ptr, size_t size);

/**
 * gdr_copy_from_mapping - read GPU memory
 *
 * Of write-combined memory, the blocks of 16 aligned bytes that hold the range
 * are read. EINVAL: @handle is not mapped.
 */
int gdr_copy_from_mapping(gdr_mh_t handle, void *h_ptr, const void *map_d_ptr, size_t size);

/** gdr_runtime_get_version - of the interface that this library has */
void gdr_runtime_get_version(int *major, int *minor);

/** gdr_driver_get_version - of the gdrdrv that peerpin.ko stands for: the same */
int gdr_driver_get_version(gdr_t g, int *major, int *minor);

typedef enum gdr_attr {
	GDR_ATTR_USE_PERSISTENT_MAPPING = 1,	/* 1: pins without tokens are persistent */
	GDR_ATTR_SUPPORT_PIN_FLAG_FORCE_PCIE = 2, /* 0 */
	GDR_ATTR_USING_DMA_BUF_MMAP = 3,	/* 0 */
	GDR_ATTR_MAX,
} gdr_attr_t;

/** gdr_get_attribute - EINVAL: an unknown one */
int gdr_get_attribute(gdr_t g, gdr_attr_t attr, int *v);

/** gdr_get_mapping_type_string - a name for people; EINVAL: an unknown type */
int gdr_get_mapping_type_string(gdr_mapping_type_t mapping_type, const char **pstr);

#ifdef __cplusplus
}
#endif
#endif

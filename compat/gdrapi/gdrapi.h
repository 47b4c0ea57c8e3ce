/* SPDX-License-Identifier: MIT */
/*
 * gdrapi: maps GPU memory for the CPU, and copies to and from it.
 *
 * The interface of NVIDIA's gdrcopy 2.6 in our own words, implemented by libpeerpin on
 * /dev/peerpin, or without it on dma-bufs of the GPU's driver. Programs written or built for
 * libgdrapi.so.2 run with either library. doc/gdrapi.md lists the differences.
 *
 * Functions that return int return 0 or a positive errno. Common errors: EINVAL the handle is
 * not open or not pinned, or an argument is invalid; EACCES in a child of fork(), which must
 * not use handles of its parent. In the child only gdr_close() works: it closes the child's
 * descriptor and unpins nothing.
 *
 * Any thread may call any function, and several threads may use one handle at the same time.
 * Exceptions: gdr_close() must be the last call on its handle; and a copy must have returned before
 * gdr_unmap(), gdr_unpin_buffer() or gdr_close() removes its mapping. Otherwise the copy accesses
 * memory that is not mapped.
 *
 * Environment:
 *	GDRCOPY_ENABLE_LOGGING		if set, each failure is printed on stderr with
 *					its reason
 *	PEERPIN_GDR_PERSISTENT=0	make revocable pins: see gdr_pin_buffer()
 *	GDRCOPY_USE_DMABUF_MMAP=1	use dma-bufs even if /dev/peerpin is there
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

/**
 * gdr_open - open /dev/peerpin
 *
 * If that fails, loads CUDA. With CUDA 13.3 (driver 610) or later the handle then uses dma-bufs: a pin
 * is a dma-buf, and the CPU maps the dma-buf.
 *
 * Return: a handle; NULL with errno set: ENOENT peerpin.ko is not loaded; EACCES no permission;
 * ENOMEM; other errors of open(). With GDRCOPY_USE_DMABUF_MMAP=1: ENODEV no CUDA or no GPU;
 * EOPNOTSUPP CUDA or the GPU cannot map dma-bufs.
 */
gdr_t gdr_open(void);

/** gdr_close - unmap and unpin all remaining buffers, and free @g */
int gdr_close(gdr_t g);

typedef enum gdr_pin_flags {
	GDR_PIN_FLAG_DEFAULT = 0,
	GDR_PIN_FLAG_FORCE_PCIE = 1,	/* memory of a GPU that is coherent with the CPU: by PCIe, through BAR1 */
} gdr_pin_flags_t;

/**
 * gdr_pin_buffer - pin GPU memory of this process
 * @addr: first byte, any alignment; gdr_map() maps from the start of the 4 KiB page that contains @addr
 * @size: bytes, not 0
 * @p2p_token, @va_space: CU_POINTER_ATTRIBUTE_P2P_TOKENS of @addr, or both 0. Checked only if
 *	the caller has CAP_SYS_PTRACE, else ignored
 * @handle: handle of the pin, set on success; valid until gdr_unpin_buffer() or gdr_close()
 *
 * Makes a persistent pin if the GPU's driver supports them: freed memory stays pinned and mapped
 * until it is unpinned. With an older driver, or with PEERPIN_GDR_PERSISTENT=0, the pin is
 * revoked when its memory is freed. Then the next access to the mapping is a SIGBUS, and
 * gdr_get_callback_flag() reports 1.
 *
 * By dma-bufs all pins are persistent, and tokens are ignored.
 *
 * Errors: EINVAL a part of the range is not GPU memory of this process, or the tokens are wrong;
 * ENOMEM no room in the BAR1 aperture, or no memory; EDQUOT a limit of peerpin.ko is exceeded;
 * EOPNOTSUPP peerpin.ko has no provider for this GPU; ESTALE the memory was freed during the call;
 * EINTR a signal arrived.
 */
int gdr_pin_buffer(gdr_t g, unsigned long addr, size_t size, uint64_t p2p_token,
		   uint32_t va_space, gdr_mh_t *handle);

/**
 * gdr_pin_buffer_v2 - gdr_pin_buffer() without tokens
 * @flags: gdr_pin_flags_t
 *
 * Errors: as gdr_pin_buffer(); EINVAL unknown flag, or FORCE_PCIE for a revocable pin; EOPNOTSUPP
 * FORCE_PCIE, and the GPU is not coherent, or its driver cannot.
 */
int gdr_pin_buffer_v2(gdr_t g, unsigned long addr, size_t size, uint32_t flags,
		      gdr_mh_t *handle);

/** gdr_unpin_buffer - unmap the buffer if it is mapped, and unpin it */
int gdr_unpin_buffer(gdr_t g, gdr_mh_t handle);

/** gdr_get_callback_flag - set *@flag to 1 if the pin was revoked, else to 0 */
int gdr_get_callback_flag(gdr_t g, gdr_mh_t handle, int *flag);

typedef enum gdr_mapping_type {
	GDR_MAPPING_TYPE_NONE = 0,
	GDR_MAPPING_TYPE_WC = 1,	/* write-combined */
	GDR_MAPPING_TYPE_CACHING = 2,
	GDR_MAPPING_TYPE_DEVICE = 3,	/* uncached */
	GDR_MAPPING_TYPE_MAX,
} gdr_mapping_type_t;

/**
 * struct gdr_info_v2 - facts about a pin
 * @va: GPU address where gdr_map() begins: @addr of gdr_pin_buffer(), rounded down to the
 *	system's page size
 * @mapped_size: bytes from @va that can be mapped
 * @page_size: granularity of the pin in bytes
 * @tm_cycles: nanoseconds that pinning took
 * @cycles_per_ms: 1000000
 * @mapped: 1: the pin is mapped
 * @wc_mapping: 1: the mapping is write-combined
 * @mapping_type: type of the mapping
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

/* The symbol gdr_get_info() is for programs built for gdrcopy 1. Their struct has no mapping_type. */
#define gdr_get_info gdr_get_info_v2

typedef enum gdr_map_flags {
	GDR_MAP_FLAG_DEFAULT = 0,	/* the type that peerpin.ko uses for this memory */
	GDR_MAP_FLAG_REQ_WC_MAPPING = 1,
	GDR_MAP_FLAG_REQ_CACHE_MAPPING = 2,
	GDR_MAP_FLAG_REQ_DEVICE_MAPPING = 3,
} gdr_map_flags_t;

/**
 * gdr_map - map a pin for the CPU
 * @va: address of the mapping, set on success
 * @size: bytes, not 0, rounded up to the system's page size. The end must lie within the pinned
 *	range, rounded up to GPU pages
 *
 * The mapping begins at the page of the system that gdr_get_info() names in va. A pin has at most one
 * mapping. A child of fork() does not inherit the mapping.
 *
 * Memory of a coherent GPU is mapped cached. For GDR_MAP_FLAG_REQ_WC_MAPPING, gdr_map_v2() replaces the
 * pin by a pin through PCIe (GDR_PIN_FLAG_FORCE_PCIE), if pins are persistent and peerpin.ko makes them. If
 * the kernel refuses to end the replaced pin, the mapping succeeds, and the replaced pin ends at gdr_close().
 *
 * Errors: EINVAL the size cannot be mapped, or unknown flag; EAGAIN the pin is already mapped; EOPNOTSUPP
 * this memory cannot be mapped with the requested type; ESTALE the memory was freed; ENOMEM.
 */
int gdr_map(gdr_t g, gdr_mh_t handle, void **va, size_t size);
int gdr_map_v2(gdr_t g, gdr_mh_t handle, void **ptr_va, size_t size, int flags);

/** gdr_unmap - remove the whole mapping; @size is ignored. EINVAL: no mapping begins at @va */
int gdr_unmap(gdr_t g, gdr_mh_t handle, void *va, size_t size);

/**
 * gdr_copy_to_mapping - write GPU memory
 * @map_d_ptr: destination in the mapping, any alignment
 * @h_ptr: source in host memory, any alignment
 *
 * When the call returns, the data has left the CPU. Do not unmap or unpin the handle before the call
 * returns. EINVAL: @handle is not mapped.
 */
int gdr_copy_to_mapping(gdr_mh_t handle, void *map_d_ptr, const void *h_ptr, size_t size);

/**
 * gdr_copy_from_mapping - read GPU memory
 * @h_ptr: destination in host memory, any alignment
 * @map_d_ptr: source in the mapping, any alignment
 *
 * Unless the mapping is cached, reads all aligned blocks of 16 bytes that hold the range. Do not
 * unmap or unpin the handle before the call returns. EINVAL: @handle is not mapped.
 */
int gdr_copy_from_mapping(gdr_mh_t handle, void *h_ptr, const void *map_d_ptr, size_t size);

/** gdr_runtime_get_version - return the version of this interface */
void gdr_runtime_get_version(int *major, int *minor);

/** gdr_driver_get_version - return the version of gdrdrv that peerpin.ko replaces: as gdr_runtime_get_version() */
int gdr_driver_get_version(gdr_t g, int *major, int *minor);

typedef enum gdr_attr {
	GDR_ATTR_USE_PERSISTENT_MAPPING = 1,	/* 1: pins are persistent */
	GDR_ATTR_SUPPORT_PIN_FLAG_FORCE_PCIE = 2, /* 1: the flag is known; pins fail if the GPU is not coherent */
	GDR_ATTR_USING_DMA_BUF_MMAP = 3,	/* 1: without /dev/peerpin, by dma-bufs */
	GDR_ATTR_MAX,
} gdr_attr_t;

/** gdr_get_attribute - read an attribute; EINVAL: unknown attribute */
int gdr_get_attribute(gdr_t g, gdr_attr_t attr, int *v);

/** gdr_get_mapping_type_string - return a readable name; EINVAL: unknown type */
int gdr_get_mapping_type_string(gdr_mapping_type_t mapping_type, const char **pstr);

#ifdef __cplusplus
}
#endif
#endif

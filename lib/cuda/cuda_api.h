/* SPDX-License-Identifier: MIT */
/*
 * The functions of the CUDA driver API that libpeerpin uses. libpeerpin looks them up
 * if the process has loaded CUDA, and never loads CUDA itself.
 */
#ifndef PP_CUDA_API_H
#define PP_CUDA_API_H

#include <stddef.h>

enum {
	PP_CU_SUCCESS = 0,
	PP_CU_INVALID_VALUE = 1,
	PP_CU_OUT_OF_MEMORY = 2,
	PP_CU_NO_CONTEXT = 201,
	PP_CU_OPERATING_SYSTEM = 304,
	PP_CU_NOT_SUPPORTED = 801,
};

/* CUpointer_attribute. The prefix PP_CU_ avoids clashes with cuda.h */
enum {
	PP_CU_CONTEXT = 1,
	PP_CU_MEMORY_TYPE = 2,
	PP_CU_SYNC_MEMOPS = 6,
	PP_CU_BUFFER_ID = 7,
	PP_CU_IS_MANAGED = 8,
	PP_CU_DEVICE_ORDINAL = 9,
	PP_CU_RANGE_START = 11,
	PP_CU_RANGE_SIZE = 12,
	PP_CU_RDMA_CAPABLE = 15,
	PP_CU_MEMPOOL = 17,
	PP_CU_MAPPING_SIZE = 18,
	PP_CU_MAPPING_START = 19,
};

/* CUmemorytype; CUDA leaves 0 for an address that it does not know */
enum {
	PP_CU_TYPE_UNKNOWN = 0,
	PP_CU_TYPE_DEVICE = 2,
};

/* CUmemRangeHandleType, and a flag of cuMemGetHandleForAddressRange() since CUDA 12.8 */
enum {
	PP_CU_DMA_BUF_FD = 1,
	PP_CU_MAPPING_TYPE_PCIE = 1,
};

/* CUdevice_attribute */
enum {
	PP_CU_IS_COHERENT = 100,	/* PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES */
};

/** struct pp_cuda - functions of CUDA; addresses are CUdeviceptr */
struct pp_cuda {
	int (*get_attributes)(unsigned int count, int *attributes, void **data,
			      unsigned long long addr);
	int (*get_attribute)(void *data, int attribute,
			     unsigned long long addr);
	int (*set_attribute)(const void *value, int attribute,
			     unsigned long long addr);
	/* each of the following is NULL if the driver lacks it */
	int (*pci_bus_id)(char *out, int room, int device);
	int (*device_attribute)(int *out, int attribute, int device);
	int (*get_handle)(void *handle, unsigned long long addr, size_t size, int type,
			  unsigned long long flags);
	int (*write)(unsigned long long to, const void *from, size_t length);
	int (*read)(void *to, unsigned long long from, size_t length);
	int (*settle)(void);
	int (*context_current)(void **out); /* also NULL if the driver lacks any of the next four functions */
	int (*context_push)(void *context);
	int (*context_pop)(void **out);
	int (*primary_retain)(void **out, int device);
	int (*primary_release)(int device);
};

/* NULL while the process has not loaded CUDA. */
const struct pp_cuda *pp_cuda(void);

#endif

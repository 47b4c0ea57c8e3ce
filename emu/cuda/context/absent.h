/* SPDX-License-Identifier: MIT */
/*
 * absent: functions that the emulated GPU does not support, but that programs link with or look up.
 * The library exports these functions, so that such programs start. Absent functions return
 * CUDA_ERROR_NOT_SUPPORTED.
 */
#ifndef ABSENT_H
#define ABSENT_H

#include <cuda.h>

/* Each entry: name, suffix of the variant, first CUDA version with this variant */
#define ABSENT_FUNCTIONS(_) \
	/* sharing with other processes */ \
	_(cuIpcGetMemHandle, , 4010) \
	_(cuIpcOpenMemHandle, , 4010) \
	_(cuIpcOpenMemHandle, _v2, 11000) \
	_(cuIpcCloseMemHandle, , 4010) \
	_(cuIpcGetEventHandle, , 4010) \
	_(cuIpcOpenEventHandle, , 4010) \
	_(cuMemExportToShareableHandle, , 10020) \
	_(cuMemImportFromShareableHandle, , 10020) \
	_(cuMemPoolExportToShareableHandle, , 11020) \
	_(cuMemPoolImportFromShareableHandle, , 11020) \
	_(cuMemPoolExportPointer, , 11020) \
	_(cuMemPoolImportPointer, , 11020) \
	_(cuImportExternalMemory, , 10000) \
	_(cuExternalMemoryGetMappedBuffer, , 10000) \
	_(cuDestroyExternalMemory, , 10000) \
	_(cuImportExternalSemaphore, , 10000) \
	_(cuDestroyExternalSemaphore, , 10000) \
	/* migration of managed memory */ \
	_(cuMemAdvise, , 8000) \
	_(cuMemAdvise, _v2, 12020) \
	_(cuMemPrefetchAsync, , 8000) \
	_(cuMemPrefetchAsync, _v2, 12020) \
	_(cuStreamAttachMemAsync, , 6000) \
	/* memory of several GPUs at one address, arrays */ \
	_(cuMulticastCreate, , 12010) \
	_(cuMulticastAddDevice, , 12010) \
	_(cuMulticastBindMem, , 12010) \
	_(cuMulticastBindAddr, , 12010) \
	_(cuMulticastUnbind, , 12010) \
	_(cuMulticastGetGranularity, , 12010) \
	_(cuArrayCreate, _v2, 3020) \
	_(cuArrayDestroy, , 2000) \
	_(cuMemMapArrayAsync, , 11010) \
	_(cuMemcpy3D, _v2, 3020) \
	_(cuMemcpy3DAsync, _v2, 3020) \
	_(cuMemcpyBatchAsync, , 12080) \
	_(cuMemcpyBatchAsync, _v2, 13000) \
	/* code for the GPU */ \
	_(cuModuleLoad, , 2000) \
	_(cuModuleLoadData, , 2000) \
	_(cuModuleLoadDataEx, , 2010) \
	_(cuModuleLoadFatBinary, , 2000) \
	_(cuModuleUnload, , 2000) \
	_(cuModuleGetFunction, , 2000) \
	_(cuModuleGetGlobal, _v2, 3020) \
	_(cuModuleGetLoadingMode, , 11070) \
	_(cuLinkCreate, _v2, 6050) \
	_(cuLinkAddData, _v2, 6050) \
	_(cuLinkAddFile, _v2, 6050) \
	_(cuLinkComplete, , 5050) \
	_(cuLinkDestroy, , 5050) \
	_(cuLibraryLoadData, , 12000) \
	_(cuLibraryLoadFromFile, , 12000) \
	_(cuLibraryUnload, , 12000) \
	_(cuLibraryGetKernel, , 12000) \
	_(cuLibraryGetModule, , 12000) \
	_(cuLibraryGetGlobal, , 12000) \
	_(cuLibraryGetManaged, , 12000) \
	_(cuKernelGetFunction, , 12000) \
	_(cuFuncGetAttribute, , 2020) \
	_(cuFuncSetAttribute, , 9000) \
	_(cuFuncSetCacheConfig, , 3000) \
	_(cuFuncGetModule, , 11000) \
	_(cuLaunchKernel, , 4000) \
	_(cuLaunchKernelEx, , 11060) \
	_(cuLaunchCooperativeKernel, , 9000) \
	_(cuOccupancyMaxActiveBlocksPerMultiprocessor, , 6050) \
	_(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, , 7000) \
	_(cuOccupancyMaxPotentialBlockSize, , 6050) \
	/* stream capture, graphs, waiting for values in memory */ \
	_(cuStreamBeginCapture, _v2, 10010) \
	_(cuStreamEndCapture, , 10000) \
	_(cuGraphCreate, , 10000) \
	_(cuGraphDestroy, , 10000) \
	_(cuGraphInstantiateWithFlags, , 11040) \
	_(cuGraphLaunch, , 10000) \
	_(cuGraphExecDestroy, , 10000) \
	_(cuStreamWriteValue32, _v2, 11070) \
	_(cuStreamWriteValue64, _v2, 11070) \
	_(cuStreamWaitValue32, _v2, 11070) \
	_(cuStreamWaitValue64, _v2, 11070) \
	_(cuStreamBatchMemOp, _v2, 11070) \
	/* the rest */ \
	_(cuDeviceGetLuid, , 10000) \
	_(cuGetExportTable, , 3000) \
	_(cuProfilerStart, , 4000) \
	_(cuProfilerStop, , 4000)

#define DECLARE_ABSENT(name, suffix, since) CUresult name##suffix(void) __attribute__((visibility("default")));
ABSENT_FUNCTIONS(DECLARE_ABSENT)

#endif

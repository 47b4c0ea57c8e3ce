/* SPDX-License-Identifier: MIT */
/*
 * All functions of the driver API that free memory which a device can access, and the
 * two versions of cuGetProcAddress(), which return functions. Columns:
 * - symbol;
 * - name and CUDA version for cuGetProcAddress();
 * - 1 for the variant with a default stream per thread, else 0;
 * - kind of wrapper (wrap.c).
 *
 * Three functions are not in the list, because they free no mapped memory: cuMemRelease(),
 * cuMemAddressFree() (the range is unmapped already), cuArrayDestroy() (no address).
 */
#ifndef PP_HOOK_FREES_H
#define PP_HOOK_FREES_H

#define PP_FREES(_) \
	_(cuGetProcAddress, cuGetProcAddress, 11030, 0, PROC) \
	_(cuGetProcAddress_v2, cuGetProcAddress, 12000, 0, PROC_WHY) \
	_(cuMemFree, cuMemFree, 2000, 0, ADDRESS) \
	_(cuMemFree_v2, cuMemFree, 3020, 0, ADDRESS) \
	_(cuMemFreeAsync, cuMemFreeAsync, 11020, 0, ADDRESS_AND) \
	_(cuMemFreeAsync_ptsz, cuMemFreeAsync, 11020, 1, ADDRESS_AND) \
	_(cuMemFreeHost, cuMemFreeHost, 2000, 0, ADDRESS) \
	_(cuMemHostUnregister, cuMemHostUnregister, 4000, 0, ADDRESS) \
	_(cuMemUnmap, cuMemUnmap, 10020, 0, RANGE) \
	_(cuIpcCloseMemHandle, cuIpcCloseMemHandle, 4010, 0, ADDRESS) \
	_(cuMemPoolTrimTo, cuMemPoolTrimTo, 11020, 0, OBJECT_AND) \
	_(cuMemPoolDestroy, cuMemPoolDestroy, 11020, 0, OBJECT) \
	_(cuDeviceGraphMemTrim, cuDeviceGraphMemTrim, 11040, 0, NUMBER) \
	_(cuCtxDestroy, cuCtxDestroy, 2000, 0, OBJECT) \
	_(cuCtxDestroy_v2, cuCtxDestroy, 4000, 0, OBJECT) \
	_(cuCtxDetach, cuCtxDetach, 2000, 0, OBJECT) \
	_(cuGreenCtxDestroy, cuGreenCtxDestroy, 12040, 0, OBJECT) \
	_(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, 7000, 0, NUMBER) \
	_(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, 11000, 0, NUMBER) \
	_(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, 7000, 0, NUMBER) \
	_(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, 11000, 0, NUMBER) \
	_(cuModuleUnload, cuModuleUnload, 2000, 0, OBJECT) \
	_(cuLibraryUnload, cuLibraryUnload, 12000, 0, OBJECT) \
	_(cuDestroyExternalMemory, cuDestroyExternalMemory, 10000, 0, OBJECT) \
	_(cuGraphicsUnmapResources, cuGraphicsUnmapResources, 3000, 0, NUMBER_AND_TWO) \
	_(cuGraphicsUnmapResources_ptsz, cuGraphicsUnmapResources, 7000, 1, NUMBER_AND_TWO) \
	_(cuGraphicsUnregisterResource, cuGraphicsUnregisterResource, 3000, 0, OBJECT) \
	_(cuGLUnmapBufferObject, cuGLUnmapBufferObject, 2000, 0, NUMBER) \
	_(cuGLUnmapBufferObjectAsync, cuGLUnmapBufferObjectAsync, 2030, 0, NUMBER_AND) \
	_(cuGLUnregisterBufferObject, cuGLUnregisterBufferObject, 2000, 0, NUMBER) \
	_(cuCheckpointProcessCheckpoint, cuCheckpointProcessCheckpoint, 12080, 0, NUMBER_AND)

#endif

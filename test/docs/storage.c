// SPDX-License-Identifier: MIT
#include <cuda.h>
#include <fcntl.h>
#include <libpeerpin.h>
#include <stdio.h>

int main(void)
{
	struct pp_file_result result = {};
	size_t length = 8192, offset = 0;
	struct pp_cache *views;
	struct pp_file *file;
	void *gpu_pointer;
	CUdeviceptr gpu;
	CUcontext ctx;
	int fd = open("/proc/self/exe", O_RDONLY);

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&ctx, 0) || cuCtxSetCurrent(ctx) || cuMemAlloc(&gpu, length))
		return 1;
	gpu_pointer = (void *)gpu;
BLOCK
	pp_file_close(file);
	pp_cache_destroy(views);
	return result.direct + result.bounced != length;
}

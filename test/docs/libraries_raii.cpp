// SPDX-License-Identifier: MIT
// links with: -lstdc++
#include <cuda.h>
#include <iostream>
#include <libpeerpin.hpp>

static int device_send(int fd, uint32_t, uint64_t offset, size_t length)
{
	return fd >= 0 && offset + length <= 64 << 20 ? 0 : -EINVAL;
}

static int send_by_copy(const void *, size_t)
{
	return 1;
}

static int send(const void *buffer, size_t length)
{
BLOCK
	return code == peerpin::reason::not_mapped ? 2 : -1;
}

int main()
{
	CUcontext gpu;
	CUdeviceptr at;

	if (cuInit(0) || cuDevicePrimaryCtxRetain(&gpu, 0) || cuCtxSetCurrent(gpu) || cuMemAlloc(&at, 1 << 20))
		return 1;
	return send((void *)(at + 100), 1000) || send((void *)4096, 10) != 2;
}

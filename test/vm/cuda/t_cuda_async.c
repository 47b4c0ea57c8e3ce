// SPDX-License-Identifier: MIT
/* Asynchronous copies and memsets of the CUDA driver API, and copies and memsets of rows. */
#include "stream.h"

SETUP(there_is_a_gpu)
{
	stream_start();
}

/* ---- copies --------------------------------------------------------------------------------- */

CASE(async_copy_reads_pageable_memory_first)
{
	struct gate g = { 0 };
	CUstream s;

	if (!cu_emulated())
		SKIP("NVIDIA's driver may wait for the stream");
	OK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	OK(cuLaunchHostFunc(s, hold, &g));
	memset(host, 0x17, SIZE);
	OK(cuMemcpyHtoDAsync(dev, host, SIZE, s));
	memset(host, 0x18, SIZE);
	g.open = 1;
	OK(cuStreamSynchronize(s));
	EXPECT(is_filled(dev, 0x17), "%#x", back[0]);
	OK(cuStreamDestroy(s));
}

CASE(synchronize_completes_copies_to_pageable_memory)
{
	CUstream s;

	OK(cuStreamCreate(&s, 0));
	OK(cuMemsetD8Async(dev, 0x19, SIZE, s));
	OK(cuMemcpyDtoHAsync(host, dev, SIZE, s));
	OK(cuStreamSynchronize(s));
	EXPECT(host[0] == 0x19 && host[SIZE - 1] == 0x19, "%#x", host[0]);
	OK(cuMemcpyAsync(dev, (uintptr_t)host, 100, s));
	OK(cuMemcpyAsync((uintptr_t)locked, dev, SIZE, s));
	OK(cuStreamSynchronize(s));
	EXPECT(!memcmp(host, locked, SIZE), "%#x", locked[0]);
	OK(cuStreamDestroy(s));
}

CASE(bad_async_copies_are_refused)
{
	IS(cuMemcpyDtoDAsync(dev, other, SIZE + 1, NULL), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemcpyHtoDAsync((uintptr_t)back, host, 4, NULL), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemsetD16Async(dev + 1, 1, 2, NULL), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemcpyDtoDAsync(dev, other, 0, NULL));
}

CASE(async_memset_repeats_its_pattern)
{
	OK(cuMemsetD8Async(dev, 0, SIZE, NULL));
	OK(cuMemsetD16Async(dev + 2, 0x2233, 2, NULL));
	OK(cuMemsetD32Async(dev + 8, 0x44556677, 2, NULL));
	OK(cuMemcpyDtoH(back, dev, 17));
	EXPECT(!memcmp(back, "\0\0\x33\x22\x33\x22\0\0\x77\x66\x55\x44\x77\x66\x55\x44\0", 17), "wrong bytes");
}

CASE(copy_2d_leaves_the_gaps)
{
	CUDA_MEMCPY2D c = {
		.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host, .srcPitch = 64, .srcXInBytes = 3, .srcY = 1,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = dev, .dstPitch = 512, .dstXInBytes = 5, .dstY = 2,
		.WidthInBytes = 50, .Height = 100,
	};

	for (int i = 0; i < SIZE; i++)
		host[i] = i * 2654435761u >> 13;
	OK(cuMemsetD8(dev, 0xee, SIZE));
	OK(cuMemcpy2D(&c));
	OK(cuMemcpyDtoH(back, dev, SIZE));
	for (int row = 0; row < 100; row++) {
		const unsigned char *got = back + (row + 2) * 512 + 5;

		EXPECT(!memcmp(got, host + (row + 1) * 64 + 3, 50), "row %d", row);
		EXPECT(got[-1] == 0xee && got[50] == 0xee, "beside row %d", row);
	}
	EXPECT(back[102 * 512 + 5] == 0xee, "a row too many");
	c.dstPitch = 54;
	IS(cuMemcpy2D(&c), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemcpy2D(NULL), CUDA_ERROR_INVALID_VALUE);
}

/* A pitch of 0 means that rows are adjacent. */
CASE(rows_of_pitch_0_are_adjacent)
{
	CUDA_MEMCPY2D c = {
		.srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = host,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = dev, .dstPitch = 512,
		.WidthInBytes = 50, .Height = 2,
	};

	for (int i = 0; i < 100; i++)
		host[i] = i;
	OK(cuMemcpy2D(&c));
	OK(cuMemcpyDtoH(back, dev, 600));
	EXPECT(back[0] == 0 && back[49] == 49 && back[512] == 50 && back[561] == 99, "%d %d %d %d", back[0], back[49],
	       back[512], back[561]);
}

CASE(async_2d_copies_and_memsets_work)
{
	CUDA_MEMCPY2D c = {
		.srcMemoryType = CU_MEMORYTYPE_UNIFIED, .srcDevice = dev, .srcPitch = 1024,
		.dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = other, .dstPitch = 16,
		.WidthInBytes = 16, .Height = 4,
	};
	CUstream s;

	OK(cuStreamCreate(&s, 0));
	OK(cuMemsetD8Async(dev, 1, SIZE, s));
	OK(cuMemsetD8Async(other, 2, SIZE, s));
	OK(cuMemsetD2D32Async(dev, 1024, 0x03030303, 3, 4, s));
	OK(cuMemcpy2DAsync(&c, s));
	OK(cuMemsetD2D8Async(other + 8, 16, 4, 1, 2, s));
	OK(cuStreamSynchronize(s));
	OK(cuMemcpyDtoH(back, other, 65));
	for (int i = 0; i < 64; i++)
		EXPECT(back[i] == (i == 8 || i == 24 ? 4 : i % 16 < 12 ? 3 : 1), "byte %d is %d", i, back[i]);
	EXPECT(back[64] == 2, "a row too many");
	OK(cuStreamDestroy(s));
}

VMTEST_MAIN

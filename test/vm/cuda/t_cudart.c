// SPDX-License-Identifier: MIT
/* The emulated CUDA runtime API. */
#include "cu.h"
#include "emu/cudart/runtime.h"

#include <dlfcn.h>
#include <pthread.h>

enum { SIZE = 100000 };

static unsigned char bytes[SIZE], back[SIZE];

CASE(runtime_needs_no_init)
{
	int n = 0;

	OK(cudaGetDeviceCount(&n));
	EXPECT(n == 2, "%d", n);
}

CASE(memory_is_copied_both_ways)
{
	void *gpu, *host;

	for (int i = 0; i < SIZE; i++)
		bytes[i] = i * 2654435761u >> 13;
	OK(cudaMalloc(&gpu, SIZE));
	OK(cudaMallocHost(&host, SIZE));
	OK(cudaMemcpy(gpu, bytes, SIZE, cudaMemcpyHostToDevice));
	OK(cudaMemcpyAsync(host, gpu, SIZE, cudaMemcpyDefault, NULL));
	OK(cudaDeviceSynchronize());
	EXPECT(!memcmp(host, bytes, SIZE), "bytes differ");
	OK(cudaMemset(gpu, 0x77, SIZE));
	OK(cudaMemcpy(back, gpu, SIZE, cudaMemcpyDeviceToHost));
	EXPECT(back[0] == 0x77 && back[SIZE - 1] == 0x77, "memset");
	OK(cudaFreeHost(host));
	OK(cudaFree(gpu));
	IS(cudaFree(gpu), CUDA_ERROR_INVALID_VALUE);
}

CASE(freeing_nothing_makes_a_context)
{
	CUcontext ctx = NULL;

	OK(cudaFree(NULL));
	OK(cuCtxGetCurrent(&ctx));
	EXPECT(ctx, "no context");
}

CASE(device_is_set_and_refused)
{
	int device = -1;

	OK(cudaSetDevice(1));
	OK(cudaGetDevice(&device));
	EXPECT(device == 1, "%d", device);
	IS(cudaSetDevice(99), CUDA_ERROR_INVALID_DEVICE);
	IS(cudaSetDevice(-1), CUDA_ERROR_INVALID_DEVICE);
	OK(cudaGetDevice(&device));
	EXPECT(device == 1, "%d", device);
	OK(cudaSetDevice(0));
}

static void *device_of_thread(void *device)
{
	cudaGetDevice(device);
	return NULL;
}

CASE(other_thread_has_first_device)
{
	pthread_t thread;
	int device = -1;

	OK(cudaSetDevice(1));
	EXPECT(!pthread_create(&thread, NULL, device_of_thread, &device), "no thread");
	pthread_join(thread, NULL);
	EXPECT(device == 0, "%d", device);
	OK(cudaSetDevice(0));
}

CASE(context_of_the_driver_is_used)
{
	CUcontext ctx, of_memory = NULL;
	CUdevice device = -1;
	void *p;

	OK(cuCtxCreate(&ctx, NULL, 0, 1));
	OK(cudaGetDevice(&device));
	EXPECT(device == 1, "%d", device);
	OK(cudaMalloc(&p, SIZE));
	OK(cuPointerGetAttribute(&of_memory, CU_POINTER_ATTRIBUTE_CONTEXT, (uintptr_t)p));
	EXPECT(of_memory == ctx, "another context");
	OK(cuCtxDestroy(ctx));
}

CASE(errors_have_runtime_names)
{
	void *p = NULL;

	IS(cudaMalloc(&p, 1ull << 50), CUDA_ERROR_OUT_OF_MEMORY);
	EXPECT(!strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation"), "name");
	EXPECT(cudaGetErrorString(cudaErrorMemoryAllocation), "no text");
	IS(cudaIpcGetMemHandle(NULL, p), CUDA_ERROR_NOT_SUPPORTED);
}

/* A program refers to a function with the version of the CUDA that the program was built with. */
CASE(each_cuda_finds_its_version)
{
	const char *versions[] = { "libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13" };

	for (unsigned int i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		void *lib = dlopen(versions[i], RTLD_NOW | RTLD_LOCAL);

		EXPECT(lib, "%s", dlerror());
		EXPECT(dlvsym(lib, "cudaMalloc", versions[i]), "%s", dlerror());
	}
	EXPECT(dlopen("libcudart.so", RTLD_NOW | RTLD_LOCAL), "%s", dlerror());
}

VMTEST_MAIN

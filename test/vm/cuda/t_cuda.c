// SPDX-License-Identifier: MIT
/*
 * The CUDA driver API. All cases without SKIP pass on a real GPU, too. So the emulated driver
 * behaves like NVIDIA's driver.
 */
#include "cu.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

#define MIB ((size_t)1 << 20)
#define HOST(p) ((CUdeviceptr)(uintptr_t)(p))

static CUcontext ctx;
static CUdeviceptr a;		/* address of one byte, used by later cases */
static CUdeviceptr big;		/* address of BIG bytes, used by later cases */
static unsigned char host[4 << 20], back[4 << 20];

enum { BIG = (3 << 20) + 5 };

SETUP(there_is_a_gpu)
{
	OK(cuInit(0));
}

CASE(primary_context_is_counted)
{
	unsigned int flags;
	CUcontext again;
	int active;

	IS(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuDevicePrimaryCtxReset(0));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	EXPECT(!active, "active");
	IS(cuDevicePrimaryCtxRetain(&ctx, 99), CUDA_ERROR_INVALID_DEVICE);
	IS(cuDevicePrimaryCtxRetain(NULL, 0), CUDA_ERROR_INVALID_VALUE);
	OK(cuDevicePrimaryCtxRetain(&ctx, 0));
	OK(cuDevicePrimaryCtxRetain(&again, 0));
	EXPECT(ctx == again, "two contexts");
	OK(cuDevicePrimaryCtxRelease(0));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	EXPECT(active, "not active");
	OK(cuCtxGetCurrent(&again));
	EXPECT(!again, "retain made the context current");
}

CASE(contexts_stack_per_thread)
{
	CUcontext c;
	CUdevice dev;

	IS(cuCtxPushCurrent(NULL), CUDA_ERROR_INVALID_VALUE);
	OK(cuCtxPushCurrent(ctx));
	OK(cuCtxPushCurrent(ctx));
	OK(cuCtxSetCurrent(NULL));
	OK(cuCtxGetCurrent(&c));
	EXPECT(c == ctx, "cuCtxSetCurrent(NULL) popped more than the top");
	OK(cuCtxPopCurrent(NULL));
	IS(cuCtxPopCurrent(&c), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuCtxSetCurrent(ctx));
	OK(cuCtxSetCurrent(ctx));
	OK(cuCtxPopCurrent(&c));
	EXPECT(c == ctx, "%p", (void *)c);
	IS(cuCtxPopCurrent(&c), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuCtxSetCurrent(ctx));
	OK(cuCtxGetDevice(&dev));
	EXPECT(dev == 0, "%d", dev);
	OK(cuCtxSynchronize());
}

CASE(bad_allocations_are_refused)
{
	IS(cuMemAlloc(&a, 0), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAlloc(NULL, 1), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAlloc(&a, (size_t)1 << 50), CUDA_ERROR_OUT_OF_MEMORY);
	IS(cuMemAlloc(&a, SIZE_MAX), CUDA_ERROR_OUT_OF_MEMORY);
}

CASE(small_allocations_share_a_block)
{
	CUdeviceptr b, c, d;

	OK(cuMemAlloc(&a, 1));
	OK(cuMemAlloc(&b, 1));
	OK(cuMemAlloc(&c, 513));
	OK(cuMemAlloc(&d, 1));
	EXPECT(a % 512 == 0 && b == a + 512 && c == b + 512 && d == c + 1024, "%#llx %#llx %#llx %#llx", a, b, c, d);
	EXPECT(a / (2 * MIB) == d / (2 * MIB), "%#llx %#llx", a, d);
	OK(cuMemFree(b));
	OK(cuMemFree(c));
	OK(cuMemFree(d));
	OK(cuMemAlloc(&big, BIG));
	EXPECT(big % (2 * MIB) == 0, "%#llx", big);
}

CASE(uva_is_below_2_40)
{
	if (!cu_emulated())
		SKIP("a real GPU has a larger address space");
	EXPECT(big + BIG <= 1ull << 40, "%#llx", big);
}

static int touch(void *p)
{
	signal(SIGSEGV, SIG_DFL);
	return *(volatile char *)p;
}

CASE(cpu_access_to_gpu_va_faults)
{
	int status = cu_in_child(touch, (void *)(uintptr_t)big);
	int fd[2];

	EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV, "status %#x", status);
	EXPECT(!pipe(fd), "%s", strerror(errno));
	EXPECT(write(fd[1], (void *)(uintptr_t)big, 1) < 0 && errno == EFAULT, "the kernel could read GPU memory");
	close(fd[0]);
	close(fd[1]);
}

CASE(rows_have_a_pitch)
{
	CUdeviceptr p;
	size_t pitch;

	OK(cuMemAllocPitch(&p, &pitch, 1000, 30, 4));
	EXPECT(pitch >= 1000 && pitch % 512 == 0, "%zu", pitch);
	OK(cuMemsetD8(p, 1, pitch * 30));
	OK(cuMemFree(p));
	IS(cuMemAllocPitch(&p, &pitch, 1000, 30, 3), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAllocPitch(&p, &pitch, 0, 30, 4), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemAllocPitch(&p, NULL, 1000, 30, 4), CUDA_ERROR_INVALID_VALUE);
}

CASE(address_range_spans_the_allocation)
{
	CUdeviceptr base;
	size_t size;

	OK(cuMemGetAddressRange(&base, &size, big + BIG - 1));
	EXPECT(base == big && size == BIG, "%#llx %zu", base, size);
	OK(cuMemGetAddressRange(NULL, &size, a));
	EXPECT(size == 1, "%zu", size);
	OK(cuMemGetAddressRange(NULL, NULL, a));
	IS(cuMemGetAddressRange(&base, &size, a + 1), CUDA_ERROR_NOT_FOUND);
	IS(cuMemGetAddressRange(&base, &size, big + BIG), CUDA_ERROR_NOT_FOUND);
	IS(cuMemGetAddressRange(&base, &size, HOST(host)), CUDA_ERROR_NOT_FOUND);
}

CASE(copies_write_exactly_their_range)
{
	static const size_t sizes[] = { 1, 3, 511, 4096, 65535, 65537, (2 << 20) + 1, 3 << 20 };

	for (size_t i = 0; i < sizeof(host); i++)
		host[i] = i * 2654435761u >> 13;
	for (unsigned int i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t n = sizes[i], off = i % 5;

		OK(cuMemsetD8(big, 0xee, BIG));
		OK(cuMemcpyHtoD(big + off, host + i, n));
		memset(back, 0, sizeof(back));
		OK(cuMemcpyDtoH(back, big, BIG));
		EXPECT(!memcmp(back + off, host + i, n), "%zu bytes", n);
		EXPECT(!off || back[off - 1] == 0xee, "%zu bytes: the byte before changed", n);
		EXPECT(off + n == BIG || back[off + n] == 0xee, "%zu bytes: the byte behind changed", n);
	}
}

CASE(addresses_decide_the_copy_direction)
{
	CUdeviceptr c;

	OK(cuMemAlloc(&c, 5 * MIB));
	OK(cuMemcpy(big, HOST(host), BIG));
	OK(cuMemcpyDtoD(c + 7, big, BIG));
	OK(cuMemcpyHtoD(big, (void *)(uintptr_t)(c + 8), 64));
	OK(cuMemcpy(HOST(back), c + 7, BIG));
	EXPECT(!memcmp(host, back, BIG), "GPU to GPU");
	OK(cuMemcpyDtoH(back, big, 64));
	EXPECT(!memcmp(host + 1, back, 64), "GPU to GPU through cuMemcpyHtoD");
	OK(cuMemcpy(HOST(back), HOST(host + 9), 100));
	EXPECT(!memcmp(host + 9, back, 100), "host to host");
	OK(cuMemFree(c));
}

CASE(impossible_copies_are_refused)
{
	IS(cuMemcpyHtoD(a, host, 2), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemcpyHtoD(big, host, BIG + 1), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemcpyDtoH(back, big + BIG - 1, 2), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemcpyDtoH(back, HOST(host), 4), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemcpyHtoD(HOST(back), host, 4), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemcpyDtoD(big, HOST(host), 4), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemcpyHtoD(0, host, 4), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemcpyHtoD(0, NULL, 0));
	IS(cuMemsetD8(a, 1, 2), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemsetD8(HOST(back), 1, 4), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemsetD16(big + 1, 1, 4), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemsetD32(big + 2, 1, 4), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemsetD8(0, 1, 0));
}

CASE(memset_repeats_its_pattern)
{
	uint16_t *half = (uint16_t *)back;
	uint32_t *word = (uint32_t *)back;

	OK(cuMemsetD8(big, 0x11, 70000));
	OK(cuMemsetD16(big + 2, 0x2233, 40000));
	OK(cuMemcpyDtoH(back, big, 90000));
	EXPECT(back[0] == 0x11 && back[1] == 0x11, "%#x", half[0]);
	EXPECT(half[1] == 0x2233 && half[40000] == 0x2233, "%#x %#x", half[1], half[40000]);
	OK(cuMemsetD32(big + 65536 - 4, 0x44556677, 2));
	OK(cuMemcpyDtoH(back, big, 90000));
	EXPECT(word[16383] == 0x44556677 && word[16384] == 0x44556677, "%#x", word[16384]);
	EXPECT(half[32769 + 1] == 0x2233 && half[32767 - 2] == 0x2233, "%#x", half[32770]);
}

CASE(free_accepts_only_allocated_addresses)
{
	CUdeviceptr p;

	IS(cuMemFree(big + 4096), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemFree(HOST(host)), CUDA_ERROR_INVALID_VALUE);
	OK(cuMemAlloc(&p, 100));
	OK(cuMemFree(p));
	IS(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemcpyHtoD(p, host, 1), CUDA_ERROR_INVALID_VALUE);
}

static void without_context(void)
{
	CUdeviceptr p;
	int one = 1;

	IS(cuMemAlloc(&p, 1), CUDA_ERROR_INVALID_CONTEXT);
	IS(cuMemcpyDtoH(back, big, 1), CUDA_ERROR_INVALID_CONTEXT);
	IS(cuMemsetD8(big, 0, 1), CUDA_ERROR_INVALID_CONTEXT);
	IS(cuMemGetAddressRange(&p, NULL, big), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuPointerSetAttribute(&one, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, big));
	EXPECT(cu_buffer_id(big), "pointer query");
	OK(cuMemFree(a));
}

static void *run(void *fn)
{
	(*(void (**)(void))fn)();
	return NULL;
}

CASE(query_and_free_need_no_context)
{
	void (*fn)(void) = without_context;
	pthread_t thread;

	OK(pthread_create(&thread, NULL, run, &fn));
	pthread_join(thread, NULL);
	CHECK_CASE();
	EXPECT(!cu_buffer_id(a), "not freed");
}

static int child(void *unused)
{
	CUdeviceptr p;

	(void)unused;
	return cuInit(0) == CUDA_ERROR_NOT_INITIALIZED && cuMemAlloc(&p, 1) == CUDA_ERROR_NOT_INITIALIZED &&
	       cuMemFree(big) == CUDA_ERROR_NOT_INITIALIZED && cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED &&
	       cuMemcpyDtoH(back, big, 1) == CUDA_ERROR_NOT_INITIALIZED && !cu_buffer_id(big);
}

CASE(child_of_fork_has_no_cuda)
{
	int status = cu_in_child(child, NULL);

	EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 1, "status %#x", status);
	OK(cuMemcpyDtoH(back, big, BIG));
}

CASE(out_of_memory_is_recoverable)
{
	size_t before, after, total, step;
	CUdeviceptr p[64];
	int n, err = 0;

	OK(cuMemGetInfo(&before, &total));
	EXPECT(before <= total, "%zu of %zu", before, total);
	step = total / 16 / (2 * MIB) * (2 * MIB);
	for (n = 0; n < 64 && !err; n += !err)
		err = cuMemAlloc(&p[n], step);
	EXPECT(err == CUDA_ERROR_OUT_OF_MEMORY, "%d after %d", err, n);
	EXPECT(n >= 8, "only %d of %zu", n, step);
	while (n)
		OK(cuMemFree(p[--n]));
	OK(cuMemGetInfo(&after, &total));
	EXPECT(before == after, "%zu before, %zu after", before, after);
}

CASE(copy_between_gpus_works)
{
	CUdeviceptr there;
	int n, dev = -1;

	OK(cuDeviceGetCount(&n));
	if (n < 2)
		SKIP("one GPU only");
	EXPECT(cu_start(1), "no context");
	OK(cuMemAlloc(&there, BIG));
	OK(cuPointerGetAttribute(&dev, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, there));
	EXPECT(dev == 1, "%d", dev);
	OK(cuMemcpyHtoD(big, host, BIG));
	OK(cuMemcpyDtoD(there, big, BIG));
	OK(cuMemcpyDtoH(back, there, BIG));
	EXPECT(!memcmp(host, back, BIG), "bytes differ");
	OK(cuDevicePrimaryCtxRelease(1));
	EXPECT(!cu_buffer_id(there) && cu_buffer_id(big), "the release freed wrong memory");
	OK(cuCtxSetCurrent(ctx));
}

CASE(last_release_ends_the_context)
{
	CUdevice dev;
	CUdeviceptr p;
	CUcontext c;

	OK(cuDevicePrimaryCtxRelease(0));
	IS(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
	EXPECT(!cu_buffer_id(big), "the context's memory is still allocated");
	OK(cuCtxGetCurrent(&c));
	EXPECT(c == ctx, "%p", (void *)c);
	OK(cuCtxGetDevice(&dev));
	IS(cuMemAlloc(&p, 1), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	IS(cuMemFree(big), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	IS(cuMemcpyDtoH(back, big, 1), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	IS(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	OK(cuDevicePrimaryCtxRetain(&c, 0));
	EXPECT(c == ctx, "the context has another handle");
	OK(cuMemAlloc(&p, 1));
}

CASE(reset_ends_a_retained_context)
{
	unsigned int flags;
	CUdeviceptr p;
	CUcontext c;
	int active;

	OK(cuMemAlloc(&p, 1));
	OK(cuDevicePrimaryCtxReset(0));
	OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
	EXPECT(!active, "active");
	EXPECT(!cu_buffer_id(p), "the context's memory is still allocated");
	IS(cuMemAlloc(&p, 1), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	OK(cuDevicePrimaryCtxRelease(0));
	IS(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
	OK(cuDevicePrimaryCtxRetain(&c, 0));
	OK(cuMemAlloc(&p, 1));
	OK(cuMemFree(p));
}

CASE(freed_address_is_not_host_memory)
{
	char mine[16];
	CUdeviceptr p;

	if (!cu_emulated())
		SKIP("NVIDIA's driver may crash");
	OK(cuMemAlloc(&p, 4 << 20));
	OK(cuMemFree(p));
	IS(cuMemcpy(HOST(mine), p, sizeof(mine)), CUDA_ERROR_INVALID_VALUE);
	IS(cuMemcpy(p, HOST(mine), sizeof(mine)), CUDA_ERROR_INVALID_VALUE);
}

VMTEST_MAIN

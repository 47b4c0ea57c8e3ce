// SPDX-License-Identifier: MIT
/*
 * Another thread acts while a call of the CUDA library is in the kernel. The wrappers of ioctl() and
 * madvise() below run the action of that other thread just before the system call.
 */
#include "stream.h"

#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

/* Action of the other thread: called once, before the next system call @at. */
static struct {
	void (*call)(void);
	unsigned long at;
} between;

static void pass(unsigned long at)
{
	void (*call)(void) = between.call;

	if (!call || between.at != at)
		return;
	between.call = NULL;
	call();
}

int ioctl(int fd, unsigned long cmd, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	pass(cmd);
	return syscall(SYS_ioctl, fd, cmd, arg);
}

int madvise(void *p, size_t size, int advice)
{
	pass(advice);
	return syscall(SYS_madvise, p, size, advice);
}

static void next(unsigned long at, void (*call)(void))
{
	between.at = at;
	between.call = call;
}

SETUP(there_is_an_emulated_gpu)
{
	if (!cu_emulated())
		vmtest_end(VMTEST_SKIPPED, "undefined on a real GPU");
	stream_start();
}

static CUcontext made;

static void end_context(void)
{
	OK(cuCtxDestroy(made));
}

CASE(context_ends_during_alloc)
{
	CUdeviceptr p;

	OK(cuCtxCreate(&made, NULL, 0, 0));
	next(EMUGPU_IOC_ALLOC, end_context);
	IS(cuMemAlloc(&p, 1), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	EXPECT(!between.call, "the system call was not made");
	OK(cuCtxSynchronize());
}

CASE(context_ends_during_export)
{
	CUdeviceptr p;
	int dmabuf;

	OK(cuCtxCreate(&made, NULL, 0, 0));
	OK(cuMemAlloc(&p, SIZE));
	next(EMUGPU_IOC_EXPORT, end_context);
	IS(cuMemGetHandleForAddressRange(&dmabuf, p, SIZE, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
	   CUDA_ERROR_CONTEXT_IS_DESTROYED);
	EXPECT(!between.call, "the system call was not made");
	EXPECT(dmabuf == -1, "a dma-buf of freed memory");
	OK(cuCtxSetCurrent(ctx));
}

static pthread_t ending;

static void *end_made(void *unused)
{
	(void)unused;
	return (void *)(uintptr_t)cuCtxDestroy(made);
}

static void begin_to_end_context(void)
{
	EXPECT(!pthread_create(&ending, NULL, end_made, NULL), "thread");
	sleep_ms(50);
}

CASE(destroy_waits_for_a_copy)
{
	CUdeviceptr p;
	void *err;

	OK(cuCtxCreate(&made, NULL, 0, 0));
	OK(cuMemAlloc(&p, SIZE));
	OK(cuMemsetD8(p, 7, SIZE));
	OK(cuCtxSynchronize());
	next(EMUGPU_IOC_COPY, begin_to_end_context);
	OK(cuMemcpyDtoH(back, p, SIZE));
	EXPECT(!between.call, "the system call was not made");
	EXPECT(back[0] == 7 && !memcmp(back, back + 1, SIZE - 1), "%#x", back[0]);
	pthread_join(ending, &err);
	EXPECT(!err, "%ld", (long)(uintptr_t)err);
	IS(cuMemcpyDtoH(back, p, SIZE), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	OK(cuCtxSetCurrent(ctx));
}

static void register_it(void)
{
	OK(cuMemHostRegister(host, SIZE, 0));
}

CASE(same_memory_is_registered_once)
{
	next(MADV_POPULATE_WRITE, register_it);
	IS(cuMemHostRegister(host, SIZE, 0), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	EXPECT(!between.call, "the system call was not made");
	OK(cuMemHostUnregister(host));
}

VMTEST_MAIN

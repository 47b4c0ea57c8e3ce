// SPDX-License-Identifier: MIT
#include "node.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

static int fd = -1;

static CUresult from_errno(int err)
{
	switch (err) {
	case ENOMEM:
		return CUDA_ERROR_OUT_OF_MEMORY;
	case EINVAL:
	case EFAULT:
	case ENOENT:
		return CUDA_ERROR_INVALID_VALUE;
	case ENODEV:
		return CUDA_ERROR_DEVICE_UNAVAILABLE;
	case EACCES: /* a child made without fork(): clone(), vfork() */
		return CUDA_ERROR_NOT_INITIALIZED;
	case EOPNOTSUPP:
		return CUDA_ERROR_NOT_SUPPORTED;
	case EBUSY: /* a test has closed the CPU window (EMUGPU_TEST_CPU_WINDOW) */
		return CUDA_ERROR_NOT_READY;
	default:
		return CUDA_ERROR_UNKNOWN;
	}
}

static CUresult call(unsigned long cmd, void *arg)
{
	int ret;

	do
		ret = ioctl(fd, cmd, arg);
	while (ret < 0 && errno == EINTR);
	return ret < 0 ? from_errno(errno) : CUDA_SUCCESS;
}

CUresult node_open(void)
{
	fd = open("/dev/emugpu", O_RDWR | O_CLOEXEC);
	return fd < 0 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

void node_close(void)
{
	close(fd);
	fd = -1;
}

CUresult node_info(unsigned int gpu, struct emugpu_info *info)
{
	*info = (struct emugpu_info){ .gpu = gpu };
	return call(EMUGPU_IOC_INFO, info);
}

CUresult node_alloc(struct emugpu_alloc *arg)
{
	CUresult err = call(EMUGPU_IOC_ALLOC, arg);

	return err && errno == ENOENT ? CUDA_ERROR_CONTEXT_IS_DESTROYED : err;
}

CUresult node_free(CUdeviceptr va)
{
	struct emugpu_free arg = { .va = va };

	return call(EMUGPU_IOC_FREE, &arg);
}

CUresult node_memory(unsigned int gpu, size_t size, unsigned int *memory)
{
	struct emugpu_memory_new arg = { .gpu = gpu, .size = size };
	CUresult err = call(EMUGPU_IOC_MEMORY, &arg);

	*memory = arg.out_memory;
	return err;
}

CUresult node_context(unsigned int gpu, struct emugpu_context_new *out)
{
	*out = (struct emugpu_context_new){ .gpu = gpu };
	return call(EMUGPU_IOC_CONTEXT, out);
}

CUresult node_drop(unsigned int id)
{
	struct emugpu_drop arg = { .id = id };

	return call(EMUGPU_IOC_DROP, &arg);
}

CUresult node_map(CUdeviceptr va, size_t size)
{
	void *p = mmap((void *)(uintptr_t)va, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, va);

	return p == MAP_FAILED ? from_errno(errno) : CUDA_SUCCESS;
}

CUresult node_export(CUdeviceptr va, size_t size, unsigned int flags, int *out)
{
	struct emugpu_export arg = { .va = va, .size = size, .flags = flags };
	CUresult err = call(EMUGPU_IOC_EXPORT, &arg);

	if (!err)
		*out = arg.out_fd;
	return err;
}

CUresult node_copy(enum emugpu_copy_kind kind, uint64_t dst, uint64_t src, size_t length)
{
	struct emugpu_copy arg = { .kind = kind, .dst = dst, .src = src, .length = length };

	return call(EMUGPU_IOC_COPY, &arg);
}

CUresult node_fill(CUdeviceptr dst, uint32_t pattern, unsigned int elem, size_t length)
{
	struct emugpu_copy arg = { .kind = EMUGPU_FILL, .elem = elem, .dst = dst, .src = pattern, .length = length };

	return call(EMUGPU_IOC_COPY, &arg);
}

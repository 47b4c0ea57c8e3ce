// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "gpu.h"
#include "tool/tool.h"

/* CUresult */
enum {
	CU_SUCCESS = 0,
	CU_NO_DEVICE = 100,
};

enum {
	CU_INTEGRATED = 18,	/* CUdevice_attribute */
	CU_HOST_DEVICEMAP = 2,	/* flag of cuMemHostAlloc() */
};

/* Functions of CUDA; CUdeviceptr is a 64-bit integer. */
static struct {
	int (*init)(unsigned int flags);
	int (*error_name)(int result, const char **name);
	int (*retain)(void **ctx, int device);
	int (*set_current)(void *ctx);
	int (*info)(size_t *free, size_t *total);
	int (*alloc)(unsigned long long *out, size_t size);
	int (*free)(unsigned long long addr);
	int (*host_alloc)(void **out, size_t size, unsigned int flags);
	int (*host_free)(void *addr);
	int (*attribute)(int *out, int attribute, int device);
	int (*write)(unsigned long long to, const void *from, size_t length);
	int (*read)(void *to, unsigned long long from, size_t length);
	int (*copy)(unsigned long long to, unsigned long long from, size_t length);
	int (*wait)(void);
	int (*name)(char *out, int room, int device);
	int (*version)(int *out);
} cuda;

static const struct {
	const char *name;
	void *function;
} symbols[] = {
	{ "cuInit", &cuda.init },
	{ "cuGetErrorName", &cuda.error_name },
	{ "cuDevicePrimaryCtxRetain", &cuda.retain },
	{ "cuCtxSetCurrent", &cuda.set_current },
	{ "cuMemGetInfo_v2", &cuda.info },
	{ "cuMemAlloc_v2", &cuda.alloc },
	{ "cuMemFree_v2", &cuda.free },
	{ "cuMemHostAlloc", &cuda.host_alloc },
	{ "cuMemFreeHost", &cuda.host_free },
	{ "cuDeviceGetAttribute", &cuda.attribute },
	{ "cuMemcpyHtoD_v2", &cuda.write },
	{ "cuMemcpyDtoH_v2", &cuda.read },
	{ "cuMemcpyDtoD_v2", &cuda.copy },
	{ "cuCtxSynchronize", &cuda.wait },
	{ "cuDeviceGetName", &cuda.name },
	{ "cuDriverGetVersion", &cuda.version },
};

/* Finds all functions. Returns the name of the first missing function, or NULL. */
static const char *resolve(void *lib)
{
	size_t i;

	for (i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *at = dlsym(lib, symbols[i].name);

		if (!at)
			return symbols[i].name;
		memcpy(symbols[i].function, &at, sizeof(at));
	}
	return NULL;
}

/* Writes the error. Returns @state. */
__attribute__((format(printf, 4, 5)))
static enum gpu_state refuse(char *why, size_t room, enum gpu_state state, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, room, format, args);
	va_end(args);
	return state;
}

static enum gpu_state load(char *why, size_t room)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	const char *missing;

	if (!lib)
		return refuse(why, room, GPU_ABSENT, "there is no CUDA library (libcuda.so.1): install the GPU's driver");
	missing = resolve(lib);
	if (missing)
		return refuse(why, room, GPU_BROKEN, "libcuda.so.1 has no %s: it is too old; install a newer GPU driver",
			      missing);
	return GPU_OPEN;
}

static enum gpu_state init(char *why, size_t room)
{
	int ret = cuda.init(0);

	if (ret == CU_NO_DEVICE)
		return refuse(why, room, GPU_ABSENT,
			      "CUDA finds no GPU: see whether lspci lists one and its driver is loaded");
	if (ret)
		return refuse(why, room, GPU_BROKEN, "CUDA does not start: cuInit() says %s; see the kernel's log: dmesg",
			      gpu_error(ret));
	return GPU_OPEN;
}

static enum gpu_state use_first(char *why, size_t room)
{
	void *ctx;
	int ret = cuda.retain(&ctx, 0);

	if (!ret)
		ret = cuda.set_current(ctx);
	if (ret)
		return refuse(why, room, GPU_BROKEN, "GPU 0 cannot be used: %s; see the kernel's log: dmesg",
			      gpu_error(ret));
	return GPU_OPEN;
}

enum gpu_state gpu_try_open(char *why, size_t room)
{
	static bool opened;
	enum gpu_state state;

	if (opened)
		return GPU_OPEN;
	state = load(why, room);
	if (state == GPU_OPEN)
		state = init(why, room);
	if (state == GPU_OPEN)
		state = use_first(why, room);
	opened = state == GPU_OPEN;
	return state;
}

int gpu_open(void)
{
	char why[256];
	enum gpu_state state = gpu_try_open(why, sizeof(why));

	if (state == GPU_OPEN)
		return 0;
	return fail("%s%s", why, state == GPU_ABSENT ? ", or type: peerpin copy --from host --to host" : "");
}

int gpu_room(struct gpu_room *out)
{
	return cuda.info(&out->free, &out->total);
}

/* On an integrated GPU (Tegra) peers can reach only memory of cuMemHostAlloc(). */
static bool is_integrated(void)
{
	int integrated = 0;

	return !cuda.attribute(&integrated, CU_INTEGRATED, 0) && integrated;
}

static int alloc_host(size_t size, uint64_t *out)
{
	void *at = NULL;
	int ret = cuda.host_alloc(&at, size, CU_HOST_DEVICEMAP);

	*out = (uintptr_t)at;
	return ret;
}

static int alloc_device(size_t size, uint64_t *out)
{
	unsigned long long addr = 0;
	int ret = cuda.alloc(&addr, size);

	*out = addr;
	return ret;
}

int gpu_alloc(size_t size, uint64_t *out)
{
	return is_integrated() ? alloc_host(size, out) : alloc_device(size, out);
}

int gpu_free(uint64_t addr)
{
	if (is_integrated())
		return cuda.host_free((void *)(uintptr_t)addr);
	return cuda.free(addr);
}

int gpu_write(uint64_t to, const void *from, size_t length)
{
	return cuda.write(to, from, length);
}

int gpu_read(void *to, uint64_t from, size_t length)
{
	return cuda.read(to, from, length);
}

int gpu_copy(uint64_t to, uint64_t from, size_t length)
{
	int ret = cuda.copy(to, from, length);

	return ret ? ret : cuda.wait();
}

int gpu_name(char *out, int room)
{
	return cuda.name(out, room, 0);
}

int gpu_cuda_version(int *out)
{
	return cuda.version(out);
}

const char *gpu_error(int result)
{
	const char *name = NULL;

	if (cuda.error_name(result, &name) || !name)
		return "an unknown CUDA error";
	return name;
}

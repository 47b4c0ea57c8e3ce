// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <stdbool.h>
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

static int load(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
	const char *missing;

	if (!lib)
		return fail("there is no CUDA library (libcuda.so.1): install the GPU's driver, or type: peerpin copy --from host --to host");
	missing = resolve(lib);
	if (missing)
		return fail("libcuda.so.1 has no %s: it is too old; install a newer GPU driver", missing);
	return 0;
}

static int init(void)
{
	int ret = cuda.init(0);

	if (ret == CU_NO_DEVICE)
		return fail("CUDA finds no GPU: see whether lspci lists one and its driver is loaded, or type: peerpin copy --from host --to host");
	if (ret)
		return fail("CUDA does not start: cuInit() says %s; see the kernel's log: dmesg", gpu_error(ret));
	return 0;
}

static int use_first(void)
{
	void *ctx;
	int ret = cuda.retain(&ctx, 0);

	if (!ret)
		ret = cuda.set_current(ctx);
	if (ret)
		return fail("GPU 0 cannot be used: %s; see the kernel's log: dmesg", gpu_error(ret));
	return 0;
}

int gpu_open(void)
{
	static bool opened;
	int ret;

	if (opened)
		return 0;
	ret = load();
	if (!ret)
		ret = init();
	if (!ret)
		ret = use_first();
	if (ret)
		return ret;
	opened = true;
	return 0;
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

const char *gpu_error(int result)
{
	const char *name = NULL;

	if (cuda.error_name(result, &name) || !name)
		return "an unknown CUDA error";
	return name;
}

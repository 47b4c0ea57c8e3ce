// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <linux/types.h>
#include <peerpin.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>
#include "dmabuf.h"
#include "lib/sys/sys.h"
#include "refuse.h"

enum {
	CUDA_SINCE = 13030,
	/* CUdevice_attribute */
	USES_HOST_PAGE_TABLES = 100,	/* the GPU is coherent with the CPU */
	DMA_BUF_SUPPORTED = 124,
	/* the kernel's internal ENOTSUPP, which NVIDIA's driver returns from mmap() */
	KERNEL_ENOTSUPP = 524,
};

/* Functions of libcuda */
struct cuda {
	int (*version)(int *out);
	int (*init)(unsigned int flags);
	int (*count)(int *out);
	int (*attribute)(int *out, int attribute, int device);
};

static struct cuda cuda;	/* written once, under @lock */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Runs in a child of fork(), which may inherit a lock held by a thread of the parent. */
static void start_anew(void)
{
	pthread_mutex_init(&lock, NULL);
}

static void init_once(void)
{
	pthread_atfork(NULL, NULL, start_anew);
}

/* libcuda stays loaded: the program's memory is CUDA's. */
static int find(struct cuda *out)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);

	if (!lib)
		return gdr_refuse(-ENODEV, "%s", dlerror());
	*(void **)&out->version = dlsym(lib, "cuDriverGetVersion");
	*(void **)&out->init = dlsym(lib, "cuInit");
	*(void **)&out->count = dlsym(lib, "cuDeviceGetCount");
	*(void **)&out->attribute = dlsym(lib, "cuDeviceGetAttribute");
	if (!out->version || !out->init || !out->count || !out->attribute)
		return gdr_refuse(-ENODEV, "libcuda.so.1 lacks functions of CUDA");
	return 0;
}

/*
 * Does not hold @lock over find(): the dynamic loader holds its own lock while it runs the constructors of a library, and
 * these may call gdr_open().
 */
static int load(void)
{
	struct cuda fresh;
	int ret = find(&fresh);

	if (ret)
		return ret;
	pthread_once(&once, init_once);
	pthread_mutex_lock(&lock);
	if (!cuda.attribute)
		cuda = fresh;
	pthread_mutex_unlock(&lock);
	return 0;
}

static bool has(int attribute, int device)
{
	int value = 0;

	return !cuda.attribute(&value, attribute, device) && value;
}

int gdr_dmabuf_open(void)
{
	int i, count = 0, version = 0, ret = load();

	if (ret)
		return ret;
	if (cuda.version(&version) || version < CUDA_SINCE)
		return gdr_refuse(-EOPNOTSUPP, "mmap() of dma-bufs needs CUDA %d.%d, and this is CUDA %d.%d", CUDA_SINCE / 1000,
				  CUDA_SINCE % 1000 / 10, version / 1000, version % 1000 / 10);
	if (cuda.init(0) || cuda.count(&count))
		return gdr_refuse(-ENODEV, "CUDA finds no GPU");
	for (i = 0; i < count; i++)
		if (has(DMA_BUF_SUPPORTED, i))
			return 0;
	return gdr_refuse(-EOPNOTSUPP, "no GPU exports dma-bufs");
}

/* The driver maps memory of a coherent GPU cached, if it is not reached by PCIe. */
static uint32_t caching_of(uint64_t addr, uint32_t flags)
{
	struct pp_mem mem;

	if (flags & GDR_PIN_FLAG_FORCE_PCIE)
		return PEERPIN_CACHING_COMBINED;
	pp_query((const void *)(uintptr_t)addr, &mem);
	return has(USES_HOST_PAGE_TABLES, mem.device) ? PEERPIN_CACHING_CACHED : PEERPIN_CACHING_COMBINED;
}

int gdr_dmabuf_pin(struct gdr_handle *h, uint64_t addr, size_t size, uint32_t flags)
{
	uint32_t mapping = flags & GDR_PIN_FLAG_FORCE_PCIE ? PP_MAPPING_PCIE : PP_MAPPING_DEFAULT;
	struct pp_dmabuf d;
	struct pp_why why;
	char text[256];
	int ret = pp_dmabuf_export_mapped((const void *)(uintptr_t)addr, size, mapping, &d, &why);

	if (ret) {
		pp_explain(text, sizeof(text), ret, &why);
		return gdr_refuse(ret, "%zu bytes at 0x%llx cannot be pinned: %s", size, (unsigned long long)addr, text);
	}
	h->addr = addr;
	h->fd = d.fd;
	h->region = (struct pp_region) {
		.addr = d.addr,
		.length = d.length,
		.page_size = (uint32_t)sysconf(_SC_PAGESIZE),
	};
	h->caching = caching_of(addr, flags);
	return 0;
}

int gdr_dmabuf_map(struct gdr_handle *h, uint64_t offset, size_t length, void **out)
{
	int ret = pp_sys_map_at(h->fd, offset, length, PROT_READ | PROT_WRITE, out);

	return ret == -KERNEL_ENOTSUPP || ret == -ENODEV ? -EOPNOTSUPP : ret;
}

// SPDX-License-Identifier: MIT
/* Reasons that the library gives for failed pins, with CUDA, NVML and the kernel. */
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include <libpeerpin.h>
#include <peerpin.h>
#include "test/vm/cuda/cu.h"
#include "test/vm/harness/emu.h"
#include "test/vm/harness/module.h"

/* Both sizes fit in the GPU's 256 MiB, but not in BAR1, because the driver reserves a part of BAR1. */
#define LARGE (150 * MIB)
#define MORE (100 * MIB)

enum {
	BLOCK = 2 << 20,
	LOCKED = 1 << 20,
};

static int emu;
static CUcontext first, second;
static struct pp_ctx *ctx;
static struct pp_why why;
static char said[256];

static int pin_with(CUdeviceptr addr, size_t length, uint32_t flags)
{
	struct pp_region region;
	int ret = pp_pin_with(ctx, (void *)addr, length, flags, &region, &why);

	pp_explain(said, sizeof(said), ret, &why);
	return ret ? ret : pp_unpin(ctx, &region);
}

static int pin(CUdeviceptr addr, size_t length)
{
	return pin_with(addr, length, 0);
}

#define REFUSED(call, error, because) \
	do { \
		int ret_ = (call); \
		EXPECT(ret_ == (error) && why.reason == PEERPIN_REASON_##because, "%d, reason %u: %s", ret_, \
		       why.reason, said); \
	} while (0)

#define SAYS(text) EXPECT(strstr(said, text), "%s", said)

SETUP(everything_is_there)
{
	emu = emu_open();
	EXPECT(emu >= 0 && !pp_open(&ctx), "%d", emu);
	second = cu_start(1);
	first = cu_start(0);
	EXPECT(first && second, "two GPUs are needed");
}

CASE(unmapped_address_is_not_mapped)
{
	REFUSED(pin(0x700000000000, 4096), -EINVAL, NOT_MAPPED);
	SAYS("neither GPU memory nor writable memory");
}

CASE(managed_memory_is_explained)
{
	CUdeviceptr p;

	OK(cuMemAllocManaged(&p, BLOCK, CU_MEM_ATTACH_GLOBAL));
	REFUSED(pin(p, BLOCK), -EINVAL, MANAGED);
	REFUSED(pin_with(p, BLOCK, PEERPIN_PIN_PERSISTENT), -EINVAL, MANAGED);
	SAYS("managed memory");
	OK(cuMemFree(p));
}

CASE(range_past_allocation_is_refused)
{
	CUdeviceptr p;

	OK(cuMemAlloc(&p, BLOCK));
	REFUSED(pin(p, 64 * BLOCK), -EINVAL, VENDOR_REFUSED);
	OK(cuMemFree(p));
}

/* ---- memory of cuMemMap() and of pools ------------------------------------------------ */

static int export_of(CUdeviceptr addr, size_t length)
{
	struct pp_dmabuf d;
	int ret = pp_dmabuf_export((void *)addr, length, &d, &why);

	pp_explain(said, sizeof(said), ret, &why);
	if (!ret)
		close(d.fd);
	return ret;
}

static int get(CUdeviceptr addr, size_t length)
{
	const struct pp_cache_entry *e;
	struct pp_cache *cache;
	int ret = pp_cache_create_ctx(ctx, NULL, &cache);

	if (ret)
		return ret;
	ret = pp_cache_get(cache, (void *)addr, length, &e, &why);
	pp_explain(said, sizeof(said), ret, &why);
	if (!ret)
		pp_cache_put(cache, e);
	pp_cache_destroy(cache);
	return ret;
}

static void map_new(CUdeviceptr at, bool rdma, CUmemGenericAllocationHandle *out)
{
	static const CUmemAccessDesc access = { { CU_MEM_LOCATION_TYPE_DEVICE, 0 }, CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemAllocationProp p = { .type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = access.location };

	p.allocFlags.gpuDirectRDMACapable = rdma;
	OK(cuMemCreate(out, BLOCK, &p, 0));
	OK(cuMemMap(at, BLOCK, 0, *out, 0));
	OK(cuMemSetAccess(at, BLOCK, &access, 1));
}

CASE(memory_without_rdma_capability)
{
	CUmemGenericAllocationHandle h;
	CUdeviceptr at;

	OK(cuMemAddressReserve(&at, BLOCK, 0, 0, 0));
	map_new(at, false, &h);
	CHECK_CASE();
	REFUSED(pin(at, BLOCK), -EINVAL, NOT_RDMA);
	SAYS("gpuDirectRDMACapable");
	REFUSED(get(at, BLOCK), -EINVAL, NOT_RDMA);
	EXPECT(!export_of(at, BLOCK), "a dma-buf, as of a H200 with driver 580: %s", said);
	OK(cuMemUnmap(at, BLOCK));
	OK(cuMemRelease(h));
	OK(cuMemAddressFree(at, BLOCK));
}

CASE(memory_of_a_pool)
{
	CUdeviceptr p;

	OK(cuMemAllocAsync(&p, BLOCK, NULL));
	REFUSED(pin(p, BLOCK), -EINVAL, POOL);
	SAYS("cuMemAlloc()");
	REFUSED(get(p, BLOCK), -EINVAL, POOL);
	EXPECT(!export_of(p, BLOCK), "a dma-buf, as of a H200 with driver 580: %s", said);
	OK(cuMemFreeAsync(p, NULL));
}

CASE(range_of_two_mappings_names_the_border)
{
	CUmemGenericAllocationHandle first_half, second_half;
	char border[64];
	CUdeviceptr at;

	OK(cuMemAddressReserve(&at, 3 * BLOCK, 0, 0, 0));
	map_new(at, true, &first_half);
	map_new(at + BLOCK, true, &second_half);
	CHECK_CASE();
	snprintf(border, sizeof(border), "the second begins at 0x%llx", at + BLOCK);
	EXPECT(!export_of(at + 4096, BLOCK), "a dma-buf, as of a H200 with driver 580: %s", said);
	REFUSED(export_of(at + 4096, 2 * BLOCK), -EINVAL, VENDOR_REFUSED);
	REFUSED(pin(at + 4096, BLOCK), -EINVAL, SPANS);
	SAYS(border);
	REFUSED(get(at + 4096, BLOCK), -EINVAL, SPANS);
	SAYS(border);
	REFUSED(get(at + BLOCK, 2 * BLOCK), -EINVAL, VENDOR_REFUSED);
	EXPECT(!get(at + BLOCK, BLOCK), "the second mapping alone: %s", said);
	OK(cuMemUnmap(at, 2 * BLOCK));
	OK(cuMemRelease(first_half));
	OK(cuMemRelease(second_half));
	OK(cuMemAddressFree(at, 3 * BLOCK));
}

CASE(persistent_pin_of_host_memory_fails)
{
	void *host = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct pp_region region;
	CUdeviceptr p;

	REFUSED(pin_with((CUdeviceptr)host, BLOCK, PEERPIN_PIN_PERSISTENT), -EINVAL, NOT_GPU);
	SAYS("CUDA knows no GPU memory");
	OK(cuMemAlloc(&p, BLOCK));
	EXPECT(!pp_pin_with(ctx, (void *)p, BLOCK, PEERPIN_PIN_PERSISTENT, &region, &why), "%u", why.reason);
	OK(cuMemFree(p));
	EXPECT(pp_region_valid(ctx, &region) == 1, "revoked");
	EXPECT(!pp_unpin(ctx, &region), "unpin");
	REFUSED(pin_with(p, BLOCK, PEERPIN_PIN_PERSISTENT), -EINVAL, NOT_GPU);
	EXPECT(pin_with((CUdeviceptr)host, BLOCK, 2) == -EOPNOTSUPP, "an unknown flag: %s", said);
	munmap(host, BLOCK);
}

/* Use the second GPU: a reason with numbers of the first GPU would be wrong. */
CASE(bar1_exhaustion_reports_bytes)
{
	struct pp_bar1 bar1;
	struct pp_region full;
	char expected[128];
	CUdeviceptr a, b;

	OK(cuCtxSetCurrent(second));
	OK(cuMemAlloc(&a, LARGE));
	OK(cuMemAlloc(&b, MORE));
	EXPECT(!pp_pin(ctx, (void *)a, LARGE, &full, &why), "%u", why.reason);
	REFUSED(pin(b, MORE), -ENOMEM, NO_BAR1);
	EXPECT(!pp_bar1(1, &bar1) && why.needed == MORE && why.available == bar1.free - pp_bar1_reserve(),
	       "%lu needed, %lu free; NVML: %lu", why.needed, why.available, bar1.free);
	EXPECT(pp_bar1_reserve() == 36 * MIB, "%lu", pp_bar1_reserve());
	EXPECT(bar1.free == bar1.total - LARGE, "not the BAR1 of GPU 1: %lu bytes free", bar1.free);
	snprintf(expected, sizeof(expected),
		 "has no room for it: 100.0 MiB needed, %.1f MiB free (without the 36.0 MiB that the GPU driver reserves)",
		 why.available / 1048576.0);
	SAYS(expected);
	EXPECT(!pp_unpin(ctx, &full), "unpin");
	OK(cuMemFree(a));
	OK(cuMemFree(b));
	OK(cuCtxSetCurrent(first));
}

CASE(cache_reports_bar1_exhaustion)
{
	const struct pp_cache_entry *e;
	struct pp_cache *cache;
	struct pp_region full;
	CUdeviceptr a, b;

	OK(cuMemAlloc(&a, LARGE));
	OK(cuMemAlloc(&b, MORE));
	EXPECT(!pp_pin(ctx, (void *)a, LARGE, &full, &why), "%u", why.reason);
	EXPECT(!pp_cache_create_ctx(ctx, NULL, &cache), "cache");
	EXPECT(pp_cache_get(cache, (void *)b, MORE, &e, &why) == -ENOMEM, "got");
	EXPECT(why.reason == PEERPIN_REASON_NO_BAR1 && why.needed == MORE, "%u %lu", why.reason, why.needed);
	EXPECT(why.available && why.available < LARGE, "%lu free", why.available);
	pp_cache_destroy(cache);
	EXPECT(!pp_unpin(ctx, &full), "unpin");
	OK(cuMemFree(a));
	OK(cuMemFree(b));
}

CASE(gpu_driver_error_is_reported)
{
	CUdeviceptr p;

	OK(cuMemAlloc(&p, BLOCK));
	EXPECT(!emu_fail(emu, 1, -EIO), "fail");
	REFUSED(pin(p, BLOCK), -EIO, VENDOR_ERROR);
	SAYS("Input/output error");
	OK(cuMemFree(p));
}

CASE(freed_memory_is_not_mapped)
{
	CUdeviceptr p;

	OK(cuMemAlloc(&p, BLOCK));
	OK(cuMemFree(p));
	REFUSED(pin(p, BLOCK), -EINVAL, NOT_MAPPED);
}

CASE(process_and_total_limits_are_explained)
{
	CUdeviceptr p;

	OK(cuMemAlloc(&p, BLOCK));
	EXPECT(!module_set("peerpin/parameters/max_process_bytes", "65536"), "parameter");
	REFUSED(pin(p, BLOCK), -EDQUOT, PROCESS_BYTES);
	SAYS("(max_process_bytes): 2.0 MiB needed, 64.0 KiB free");
	EXPECT(!module_set("peerpin/parameters/max_process_bytes", "0"), "parameter");
	EXPECT(!module_set("peerpin/parameters/max_total_bytes", "65536"), "parameter");
	REFUSED(pin(p, BLOCK), -EDQUOT, TOTAL_BYTES);
	SAYS("(max_total_bytes): 2.0 MiB needed, 64.0 KiB free");
	EXPECT(!module_set("peerpin/parameters/max_total_bytes", "0"), "parameter");
	OK(cuMemFree(p));
}

/* ---- another file in the place of the device ------------------------------------------- */

static int open_instead(const char *file)
{
	struct pp_ctx *other = NULL;
	int ret;

	if (mount(file, "/dev/peerpin", NULL, MS_BIND, NULL))
		return errno;
	ret = pp_open(&other);
	umount("/dev/peerpin");
	pp_close(other);
	return ret;
}

static int child_of_a_container(void *arg)
{
	int fd = open("/tmp/plain", O_RDWR | O_CREAT, 0666);

	(void)arg;
	if (fd < 0 || unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		return 1;
	if (open_instead("/tmp/plain") != -ENODEV)
		return 2;
	return open_instead("/dev/null") == -ENODEV ? 0 : 3;
}

CASE(other_file_is_no_device)
{
	int status = cu_in_child(child_of_a_container, NULL);

	EXPECT(status == 0, "status %x", status);
}

/* ---- in a child ------------------------------------------------------------------ */

static int child_of_another_file(void *arg)
{
	(void)arg;
	return pin((CUdeviceptr)said, 1) != -EACCES || why.reason != PEERPIN_REASON_NOT_OWNED ||
	       !strstr(said, "another process");
}

CASE(file_of_parent_is_refused)
{
	EXPECT(cu_in_child(child_of_another_file, NULL) == 0, "in the child");
}

/* CUDA does not work in a forked child, so the child pins host memory. */
static int child_without_locked_memory(void *arg)
{
	const struct rlimit limit = { LOCKED, LOCKED };
	void *host = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)arg;
	if (pp_open(&ctx) || setrlimit(RLIMIT_MEMLOCK, &limit) || setuid(1))
		return 1;
	if (pin((CUdeviceptr)host, BLOCK) != -ENOMEM || why.reason != PEERPIN_REASON_MEMLOCK)
		return 2;
	if (why.needed != BLOCK || why.available != LOCKED)
		return 3;
	return !strstr(said, "(ulimit -l) does not allow it: 2.0 MiB needed, 1.0 MiB free");
}

CASE(locked_memory_limit_is_explained)
{
	int status = cu_in_child(child_without_locked_memory, NULL);

	EXPECT(status == 0, "status %x", status);
}

/* ---- dma-bufs ------------------------------------------------------------------- */

CASE(wrong_descriptor_is_explained)
{
	struct pp_region region;
	int ret = pp_pin_dmabuf(ctx, 1, 0, 4096, &region, &why);

	pp_explain(said, sizeof(said), ret, &why);
	REFUSED(ret, -EBADF, NOT_DMABUF);
	SAYS("not a dma-buf");
}

CASE(nothing_is_left)
{
	char text[256];

	pp_close(ctx);
	module_debugfs("peerpin/accounts", text, sizeof(text));
	EXPECT(!strcmp(text, "pid bytes regions pins revoked watched\nall 0 - - - -\n"), "%s", text);
}

VMTEST_MAIN

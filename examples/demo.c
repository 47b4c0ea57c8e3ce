// SPDX-License-Identifier: MIT
/*
 * The Jetson demonstration without the hardware: a PCIe device copies one GPU
 * surface to another, and survives that a surface is freed under it. What it
 * prints is what `make demo` shows; each step is checked.
 */
#include <cuda.h>
#include <errno.h>
#include <peerpin.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "libpeerpin.h"
#include "pattern.h"
#include "units.h"

enum {
	SURFACE = 8 << 20,
};

/**
 * struct demo - all there is
 * @bar1: usage before, while pinned, after
 * @region: registration of B, to watch its revocation
 */
struct demo {
	struct pp_ctx *ctx;
	struct pp_cache *cache;
	struct pp_peer *peer;
	CUdeviceptr a;
	CUdeviceptr b;
	struct pp_region region;
	uint64_t seed;
	uint64_t bar1[3];
};

static unsigned char found[SURFACE], wanted[SURFACE];

/* ---- saying it -------------------------------------------------------------- */

static void say(const char *what, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void say(const char *what, const char *format, ...)
{
	va_list args;

	printf("%-12s ", what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

/* Returns 1, so that a step can end with it. */
static int failed(const char *what, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static int failed(const char *what, const char *format, ...)
{
	va_list args;

	printf("%-12s FAILED: ", what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	return 1;
}

static int cuda_failed(const char *what, CUresult result)
{
	const char *name = "unknown error";

	if (!result)
		return 0;
	cuGetErrorName(result, &name);
	return failed(what, "%s", name);
}

static int peerpin_failed(const char *what, int error, const struct pp_why *why)
{
	if (!error)
		return 0;
	if (why && why->reason)
		return failed(what, "%s (%s)", pp_strreason(why->reason),
			      strerror(-error));
	return failed(what, "%s", strerror(-error));
}

/* ---- what is there ------------------------------------------------------------ */

static void read_line(const char *path, char *out, size_t room)
{
	FILE *f = fopen(path, "re");

	if (!f || !fgets(out, (int)room, f))
		snprintf(out, room, "unknown");
	out[strcspn(out, "\n")] = '\0';
	if (f)
		fclose(f);
}

static int find_gpu(struct demo *d)
{
	struct pp_bar1 bar1;
	char reserved[32];
	int ret = pp_bar1(0, &bar1);

	if (ret)
		return failed("GPU", "none, or its driver is not loaded (%s); type: modprobe emugpu",
			      strerror(-ret));
	d->bar1[0] = bar1.used;
	read_line("/sys/module/emugpu/parameters/bar1_reserve_mib", reserved,
		  sizeof(reserved));
	say("GPU", "%s at %s", bar1.name, bar1.pci);
	say("BAR1", "total %s, used %s, reserved by the driver %s%s",
	    text_mib(bar1.total).at, text_mib(bar1.used).at, reserved,
	    strcmp(reserved, "unknown") ? " MiB" : "");
	return 0;
}

/* A link's last component: the PCI address of the device behind a node. */
static void device_of(const char *link, char *out, size_t room)
{
	char target[256];
	ssize_t n = readlink(link, target, sizeof(target) - 1);
	const char *at;

	target[n < 0 ? 0 : n] = '\0';
	at = strrchr(target, '/');
	snprintf(out, room, "%s", at ? at + 1 : "unknown");
}

/* Only a DMA domain translates; passed through, or none, bus is physical. */
static void say_iommu(const char *device)
{
	char path[128], type[32];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group/type",
		 device);
	read_line(path, type, sizeof(type));
	if (!strncmp(type, "DMA", 3))
		say("IOMMU", "translates what the peer reads and writes (%s)",
		    type);
	else
		say("IOMMU", "none in the path: bus addresses are physical");
}

static int find_peer(struct demo *d)
{
	char device[64];
	int ret = pp_open(&d->ctx);

	if (ret)
		return failed("peerpin", "/dev/peerpin: %s; type: modprobe peerpin",
			      strerror(-ret));
	ret = pp_cache_create_ctx(d->ctx, NULL, &d->cache);
	if (ret)
		return peerpin_failed("peerpin", ret, NULL);
	ret = pp_peer_open("lsi0", d->cache, &d->peer);
	if (ret)
		return failed("peer", "/dev/lsi0: %s; type: modprobe peerpin_lsi",
			      strerror(-ret));
	device_of("/sys/class/misc/lsi0/device", device, sizeof(device));
	say("peer", "lsi0 at %s", device);
	say_iommu(device);
	return 0;
}

/* ---- surfaces ------------------------------------------------------------------ */

static int open_cuda(void)
{
	CUcontext ctx;
	CUresult r = cuInit(0);

	if (!r)
		r = cuDevicePrimaryCtxRetain(&ctx, 0);
	if (!r)
		r = cuCtxSetCurrent(ctx);
	return cuda_failed("CUDA", r);
}

static int allocate(const char *name, CUdeviceptr *out)
{
	CUresult r = cuMemAlloc(out, SURFACE);

	if (r)
		return cuda_failed(name, r);
	say(name, "%s of GPU memory at %#llx", text_bytes(SURFACE).at,
	    (unsigned long long)*out);
	return 0;
}

/* New data in A, and in B what the copy must not leave there. */
static int fill(struct demo *d)
{
	CUresult r;

	d->seed = pattern_seed();
	pattern_fill(wanted, SURFACE, d->seed, 0);
	r = cuMemcpyHtoD(d->a, wanted, SURFACE);
	if (!r)
		r = cuMemsetD8(d->b, 0xee, SURFACE);
	return cuda_failed("fill", r);
}

static int allocate_both(struct demo *d)
{
	int ret = open_cuda();

	if (!ret)
		ret = allocate("surface A", &d->a);
	if (!ret)
		ret = allocate("surface B", &d->b);
	return ret ? ret : fill(d);
}

static int compare(struct demo *d)
{
	CUresult r = cuMemcpyDtoH(found, d->b, SURFACE);
	size_t i = 0;

	if (r)
		return cuda_failed("compare", r);
	while (i < SURFACE && found[i] == wanted[i])
		i++;
	if (i < SURFACE)
		return failed("compare", "byte %zu of B is %#04x, of A %#04x",
			      i, found[i], wanted[i]);
	say("compare", "all %d bytes of B equal those of A", SURFACE);
	return 0;
}

/* ---- pins ------------------------------------------------------------------------ */

static int pin(struct demo *d, const char *name, CUdeviceptr at,
	       struct pp_region *out)
{
	struct pp_cache_stats before, after;
	const struct pp_cache_entry *entry;
	struct pp_why why;
	int ret;

	pp_cache_stats(d->cache, &before);
	ret = pp_cache_get(d->cache, (void *)(uintptr_t)at, SURFACE, &entry,
			   &why);
	if (ret)
		return peerpin_failed(name, ret, &why);
	pp_cache_stats(d->cache, &after);
	*out = *(const struct pp_region *)entry->reg;
	pp_cache_put(d->cache, entry);
	say(name, "%s in %llu pages of %s, %s", text_bytes(out->length).at,
	    (unsigned long long)(out->length / out->page_size),
	    text_bytes(out->page_size).at,
	    text_time(after.pin_ns - before.pin_ns).at);
	return 0;
}

static int check_bar1(struct demo *d)
{
	struct pp_bar1 bar1;
	int ret = pp_bar1(0, &bar1);

	if (ret)
		return peerpin_failed("BAR1", ret, NULL);
	d->bar1[1] = bar1.used;
	if (bar1.used < d->bar1[0] + 2 * SURFACE)
		return failed("BAR1", "%s used while %s are pinned",
			      text_bytes(bar1.used).at,
			      text_bytes(2 * SURFACE).at);
	say("BAR1", "used %s while both are pinned", text_mib(bar1.used).at);
	return 0;
}

static int pin_both(struct demo *d)
{
	struct pp_region a;
	int ret = pin(d, "pin A", d->a, &a);

	if (!ret)
		ret = pin(d, "pin B", d->b, &d->region);
	return ret ? ret : check_bar1(d);
}

/* ---- copies ---------------------------------------------------------------------- */

static int copy(struct demo *d, struct pp_copy_result *r)
{
	return pp_peer_copy(d->peer, (void *)(uintptr_t)d->b,
			    (void *)(uintptr_t)d->a, SURFACE, r);
}

static int first_copy(struct demo *d)
{
	struct pp_copy_result r;
	int ret = copy(d, &r);

	if (ret)
		return peerpin_failed("copy A to B", ret, &r.why);
	say("copy A to B", "%s by the peer's DMA engine, %s, %s",
	    text_bytes(r.bytes).at, text_time(r.engine_ns).at,
	    text_rate(r.bytes, r.engine_ns).at);
	return compare(d);
}

/* Devices that hold a DMA mapping of B: found there, not made again. */
static int mappings(const struct demo *d)
{
	struct peerpin_query q = {
		.size = sizeof(q), .region = d->region.id,
	};

	if (ioctl(pp_fd(d->ctx), PEERPIN_IOC_QUERY, &q))
		return -1;
	return (int)q.out_attached;
}

static int cached_copy(struct demo *d)
{
	struct pp_copy_result r;
	int maps = mappings(d);
	int ret = fill(d);

	if (ret)
		return ret;
	ret = copy(d, &r);
	if (ret)
		return peerpin_failed("copy again", ret, &r.why);
	if (r.pins || maps != 1 || mappings(d) != 1)
		return failed("copy again", "%u pins, %d mappings before, %d after",
			      r.pins, maps, mappings(d));
	say("copy again", "%s in all, %s: no pin and no map, both were cached",
	    text_time(r.total_ns).at, text_rate(r.bytes, r.total_ns).at);
	return compare(d);
}

/* ---- revocation -------------------------------------------------------------------- */

static int free_b(struct demo *d)
{
	CUresult r = cuMemFree(d->b);

	if (r)
		return cuda_failed("free B", r);
	if (pp_region_valid(d->ctx, &d->region))
		return failed("free B", "its registration was not revoked");
	say("free B", "while it is registered: the revocation has arrived");
	return 0;
}

static int refused_copy(struct demo *d)
{
	struct pp_copy_result r;
	int ret = copy(d, &r);

	if (ret != -ESTALE)
		return failed("copy A to B", "not refused as stale: %s",
			      strerror(-ret));
	say("copy A to B", "refused, as it must be: B was freed after it was registered (%s)",
	    strerror(-ret));
	return 0;
}

static int allocate_b_again(struct demo *d)
{
	CUdeviceptr old = d->b;
	int ret = allocate("B again", &d->b);

	if (ret)
		return ret;
	if (d->b != old)
		return failed("B again", "not at its old address %#llx",
			      (unsigned long long)old);
	return fill(d);
}

static int copy_to_new_b(struct demo *d)
{
	struct pp_copy_result r;
	int ret = copy(d, &r);

	if (ret)
		return peerpin_failed("copy A to B", ret, &r.why);
	say("copy A to B", "%s in all: the new B was pinned (%u pin), A was cached",
	    text_time(r.total_ns).at, r.pins);
	return compare(d);
}

static int revocation(struct demo *d)
{
	int ret = free_b(d);

	if (!ret)
		ret = refused_copy(d);
	if (!ret)
		ret = allocate_b_again(d);
	return ret ? ret : copy_to_new_b(d);
}

/* ---- the end ------------------------------------------------------------------------- */

static int clean_up(struct demo *d)
{
	struct pp_bar1 bar1;
	int ret;

	pp_peer_close(d->peer);
	pp_cache_destroy(d->cache);
	pp_close(d->ctx);
	cuMemFree(d->a);
	cuMemFree(d->b);
	ret = pp_bar1(0, &bar1);
	if (ret)
		return peerpin_failed("BAR1", ret, NULL);
	d->bar1[2] = bar1.used;
	if (d->bar1[2] > d->bar1[0])
		return failed("BAR1", "%s used, %s before: something is still pinned",
			      text_bytes(d->bar1[2]).at,
			      text_bytes(d->bar1[0]).at);
	say("BAR1", "used %s before, %s while pinned, %s now",
	    text_mib(d->bar1[0]).at, text_mib(d->bar1[1]).at,
	    text_mib(d->bar1[2]).at);
	return 0;
}

int main(void)
{
	static int (*const steps[])(struct demo *) = {
		find_gpu, find_peer, allocate_both, pin_both, first_copy,
		cached_copy, revocation, clean_up,
	};
	struct demo d = { 0 };
	size_t i;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++)
		if (steps[i](&d))
			return EXIT_FAILURE;
	puts("demo: OK");
	return EXIT_SUCCESS;
}

// SPDX-License-Identifier: MIT
/*
 * `make demo`: NVIDIA's demonstration for Jetson, without the hardware. A PCIe device copies GPU
 * surface A to surface B. Then B is freed while it is registered. The program checks each step.
 */
#include <cuda.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gpu.h"
#include "libpeerpin.h"
#include "machine.h"
#include "tool/copy/pattern.h"
#include "say.h"
#include "trace.h"
#include "tool/util/units.h"

enum {
	SURFACE = 8 << 20,
};

/**
 * struct demo - state of the demonstration
 * @cuda: result of gpu_open()
 * @bar1: used bytes of BAR1 before the pins, with both surfaces pinned, and at the end
 * @region: registration of B, to watch its revocation
 */
struct demo {
	CUresult cuda;
	struct pp_ctx *ctx;
	struct pp_cache *cache;
	struct pp_peer *peer;
	CUdeviceptr a;
	CUdeviceptr b;
	struct pp_region region;
	uint64_t seed;
	uint64_t bar1[3];
};

static unsigned char in_a[SURFACE], in_b[SURFACE], wanted[SURFACE];

/* ---- hardware ------------------------------------------------------------------ */

/* If there is no GPU, NVML gives a better reason than CUDA. */
static int find_gpu(struct demo *d)
{
	d->cuda = gpu_open();
	if (!d->cuda && gpu_is_integrated())
		return machine_integrated_gpu();
	return machine_gpu(&d->bar1[0]);
}

static int find_peer(struct demo *d)
{
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
	return machine_peer("lsi0");
}

/* ---- surfaces ------------------------------------------------------------------ */

static int allocate(const char *name, CUdeviceptr *out)
{
	CUresult r = gpu_alloc(out, SURFACE);

	if (r)
		return cuda_failed(name, r);
	say(name, "%s of GPU memory at %#llx", text_bytes(SURFACE).at,
	    (unsigned long long)*out);
	return 0;
}

/*
 * Fill A with new data, and B with bytes that the copy must replace. B has no SYNC_MEMOPS before
 * its registration, so only the last call ensures that the GPU has finished.
 */
static int fill(struct demo *d)
{
	CUresult r;

	d->seed = pattern_seed();
	pattern_fill(wanted, SURFACE, d->seed, 0);
	r = cuMemcpyHtoD(d->a, wanted, SURFACE);
	if (!r)
		r = cuMemsetD8(d->b, 0xee, SURFACE);
	if (!r)
		r = cuCtxSynchronize();
	return cuda_failed("fill", r);
}

static int allocate_both(struct demo *d)
{
	int ret = cuda_failed("CUDA", d->cuda);

	if (!ret)
		ret = allocate("surface A", &d->a);
	if (!ret)
		ret = allocate("surface B", &d->b);
	return ret ? ret : fill(d);
}

static int read_both(struct demo *d)
{
	CUresult r = cuMemcpyDtoH(in_a, d->a, SURFACE);

	if (!r)
		r = cuMemcpyDtoH(in_b, d->b, SURFACE);
	return cuda_failed("compare", r);
}

/* A must still have its data, and B must have the same data. */
static int compare(struct demo *d)
{
	size_t i = 0;
	int ret = read_both(d);

	if (ret)
		return ret;
	while (i < SURFACE && in_a[i] == wanted[i] && in_b[i] == wanted[i])
		i++;
	if (i < SURFACE)
		return failed("compare", "byte %zu is %#04x in B, %#04x in A; expected %#04x",
			      i, in_b[i], in_a[i], wanted[i]);
	say("compare", "all %d bytes of B equal those of A", SURFACE);
	return 0;
}

/* ---- pins ------------------------------------------------------------------------ */

/* Get the registration of a surface from the cache. The first get makes the registration. */
static int registration(struct demo *d, const char *what, CUdeviceptr at,
			struct pp_region *out)
{
	const struct pp_cache_entry *entry;
	struct pp_why why;
	int ret = pp_cache_get(d->cache, (void *)(uintptr_t)at, SURFACE, &entry,
			       &why);

	if (ret)
		return peerpin_failed(what, ret, &why);
	*out = *(const struct pp_region *)entry->reg;
	pp_cache_put(d->cache, entry);
	return 0;
}

static int pin(struct demo *d, const char *name, CUdeviceptr at,
	       struct pp_region *out)
{
	struct pp_cache_stats before, after;
	int ret;

	pp_cache_stats(d->cache, &before);
	ret = registration(d, name, at, out);
	if (ret)
		return ret;
	pp_cache_stats(d->cache, &after);
	if (after.pins != before.pins + 1)
		return failed(name, "%llu pins were made",
			      (unsigned long long)(after.pins - before.pins));
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
	return ret || gpu_is_integrated() ? ret : check_bar1(d);
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

static int look(struct demo *d, struct trace *t)
{
	struct pp_region a, b;
	int ret = registration(d, "copy again", d->a, &a);

	if (!ret)
		ret = registration(d, "copy again", d->b, &b);
	return ret ? ret : trace_look(t, d->ctx, &a, &b);
}

static int copy_again(struct demo *d, struct pp_copy_result *r)
{
	struct trace before, after;
	int ret = look(d, &before);

	if (ret)
		return ret;
	ret = copy(d, r);
	if (ret)
		return peerpin_failed("copy again", ret, &r->why);
	if (r->pins)
		return failed("copy again", "%u pins were made", r->pins);
	ret = look(d, &after);
	if (!ret)
		ret = trace_check("copy again", &before, &after);
	if (!ret && !after.counted)
		say("copy again", "(pins are checked by region ids only: this GPU driver has no counter)");
	return ret;
}

static int cached_copy(struct demo *d)
{
	struct pp_copy_result r;
	int ret = fill(d);

	if (!ret)
		ret = copy_again(d, &r);
	if (ret)
		return ret;
	say("copy again", "%s in all, %s: no pin and no map, both were cached",
	    text_time(r.total_ns).at, text_rate(r.bytes, r.total_ns).at);
	return compare(d);
}

/* ---- revocation -------------------------------------------------------------------- */

static int free_b(struct demo *d)
{
	CUresult r = gpu_free(d->b);

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
	if (r.pins != 1)
		return failed("copy A to B", "%u pins were made for the new B",
			      r.pins);
	say("copy A to B", "%s in all: the new B was pinned (1 pin), A was cached",
	    text_time(r.total_ns).at);
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

static int free_both(struct demo *d)
{
	CUresult r = gpu_free(d->a);

	if (!r)
		r = gpu_free(d->b);
	return cuda_failed("free", r);
}

static int check_bar1_again(struct demo *d)
{
	struct pp_bar1 bar1;
	int ret = pp_bar1(0, &bar1);

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

static int clean_up(struct demo *d)
{
	int ret;

	pp_peer_close(d->peer);
	pp_cache_destroy(d->cache);
	pp_close(d->ctx);
	ret = free_both(d);
	return ret || gpu_is_integrated() ? ret : check_bar1_again(d);
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

// SPDX-License-Identifier: MIT
/*
 * The DMA engine of a peer device copies host memory to a GPU buffer, from there to another GPU
 * buffer, and back; then again, with cached registrations.
 *
 *	peer [NAME]		(lsi0)
 */
#include <cuda.h>
#include <libpeerpin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SIZE = 2 << 20,
};

static void need(int ok, const char *what, const char *why)
{
	if (ok)
		return;
	fprintf(stderr, "peer: %s: %s\n", what, why);
	exit(1);
}

static void succeed(const char *what, int error, const struct pp_why *why)
{
	char text[256];

	pp_explain(text, sizeof(text), error, why);
	need(!error, what, text);
}

static void open_gpu(void)
{
	CUcontext ctx;

	need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&ctx, 0) && !cuCtxSetCurrent(ctx), "GPU 0", "not available");
}

static void *gpu_memory(void)
{
	CUdeviceptr gpu;

	need(!cuMemAlloc(&gpu, SIZE), "cuMemAlloc", "no memory");
	return (void *)(uintptr_t)gpu;
}

static void gpu_free(void *at)
{
	need(!cuMemFree((CUdeviceptr)(uintptr_t)at), "cuMemFree", "failed");
}

static uint32_t copy(struct pp_peer *peer, const char *what, void *to, const void *from)
{
	struct pp_copy_result result;
	int ret = pp_peer_copy(peer, to, from, SIZE, &result);

	succeed(what, ret, &result.why);
	printf("%s: %u pins, %llu us, of which the engine ran %llu us\n", what, result.pins,
	       (unsigned long long)result.total_ns / 1000, (unsigned long long)result.engine_ns / 1000);
	need(result.bytes == SIZE, what, "only a part was copied");
	return result.pins;
}

/* pp_peer_copy() finds out whether a pointer is host or GPU memory. Return: the number of new pins */
static uint32_t round_trip(struct pp_peer *peer, unsigned char *to, const unsigned char *from, void *one, void *two)
{
	uint32_t pins;

	memset(to, 0, SIZE);
	pins = copy(peer, "host to GPU", one, from);
	pins += copy(peer, "GPU to GPU", two, one);
	pins += copy(peer, "GPU to host", to, two);
	need(!memcmp(to, from, SIZE), "compare", "wrong bytes came back");
	return pins;
}

static void twice(struct pp_peer *peer, unsigned char *to, unsigned char *from)
{
	void *one = gpu_memory(), *two = gpu_memory();
	size_t i;

	for (i = 0; i < SIZE; i++)
		from[i] = (unsigned char)(i * 2654435761u >> 24);
	need(round_trip(peer, to, from, one, two) == 4, "first round", "expected one pin for each buffer");
	for (i = 0; i < SIZE; i++)
		from[i] ^= 0xff;
	need(round_trip(peer, to, from, one, two) == 0, "second round", "expected no new pin");
	gpu_free(one);
	gpu_free(two);
}

int main(int argc, char **argv)
{
	static unsigned char from[SIZE], to[SIZE];
	struct pp_cache *cache;
	struct pp_peer *peer;
	struct pp_ctx *ctx;

	open_gpu();
	succeed("/dev/peerpin", pp_open(&ctx), NULL);
	succeed("pp_cache_create_ctx", pp_cache_create_ctx(ctx, NULL, &cache), NULL);
	succeed("pp_peer_open", pp_peer_open(argc > 1 ? argv[1] : "lsi0", cache, &peer), NULL);
	twice(peer, to, from);
	pp_peer_close(peer);
	pp_cache_destroy(cache);
	pp_close(ctx);
	puts("peer: OK");
	return 0;
}

// SPDX-License-Identifier: MIT
/* peerpin copy: a peer device copies between two buffers in GPU or host memory. */
#include <stdlib.h>
#include "tool/util/explain.h"
#include "file_copy.h"
#include "gpu.h"
#include "pattern.h"
#include "result.h"
#include "surface.h"
#include "tool/tool.h"

enum {
	ZONE = 64 << 10,
};

/** struct session - the open objects of peerpin copy */
struct session {
	struct pp_ctx *ctx;
	struct pp_cache *cache;
	struct pp_peer *peer;
	struct surface src;
	struct surface dst;
};

static int open_peer(struct session *s, const char *name)
{
	int ret = pp_open(&s->ctx);

	if (!ret)
		ret = pp_cache_create_ctx(s->ctx, NULL, &s->cache);
	if (ret)
		return explain_open(ret);
	ret = pp_peer_open(name, s->cache, &s->peer);
	return ret ? explain_peer(name, ret) : 0;
}

static int open_gpu(const struct copy_args *args)
{
	if (args->from == SIDE_HOST && args->to == SIDE_HOST)
		return 0;
	return gpu_open();
}

static int alloc(struct session *s, const struct copy_args *args)
{
	uint64_t zone = args->verify ? ZONE : 0;
	int ret = surfaces_fit(args);

	if (!ret)
		ret = surface_alloc(&s->src, args->from, args->size, zone,
				    "source");
	if (!ret)
		ret = surface_alloc(&s->dst, args->to, args->size, zone,
				    "destination");
	return ret;
}

static int open_all(struct session *s, const struct copy_args *args)
{
	int ret = open_peer(s, args->peer);

	if (!ret)
		ret = open_gpu(args);
	return ret ? ret : alloc(s, args);
}

static void close_all(struct session *s)
{
	pp_peer_close(s->peer);
	pp_cache_destroy(s->cache);
	pp_close(s->ctx);
	surface_free(&s->src);
	surface_free(&s->dst);
}

static int copy_once(struct session *s, const struct copy_args *args,
		     struct pp_copy_result *result)
{
	int ret = pp_peer_copy(s->peer, surface_data(&s->dst),
			       surface_data(&s->src), args->size, result);

	return ret ? explain_copy(args->peer, ret, &result->why) : 0;
}

/*
 * Each copy uses new data, and the destination has a different pattern before the copy. The
 * patterns of both red zones differ, so that the check finds a copy of one byte too many.
 */
static int copy_verified(struct session *s, const struct copy_args *args,
			 struct pp_copy_result *result)
{
	uint64_t data = pattern_seed(), before = pattern_other(data, 0);
	uint64_t zone = pattern_other(data, 1);
	int ret = surface_fill(&s->src, data, pattern_other(data, 2));

	if (!ret)
		ret = surface_fill(&s->dst, before, zone);
	if (!ret)
		ret = copy_once(s, args, result);
	if (!ret)
		ret = surface_check(&s->dst, data, zone);
	return ret;
}

static int copy_all(struct session *s, const struct copy_args *args,
		    struct pp_copy_result *results)
{
	uint64_t i;
	int ret = 0;

	for (i = 0; i < args->repeat && !ret; i++)
		ret = args->verify ? copy_verified(s, args, &results[i]) :
				     copy_once(s, args, &results[i]);
	return ret;
}

static int run_copy(const struct copy_args *args,
		    struct pp_copy_result *results)
{
	struct session s = { 0 };
	int ret = open_all(&s, args);

	if (!ret)
		ret = copy_all(&s, args, results);
	if (!ret)
		print_results(args, results);
	close_all(&s);
	return ret;
}

static int run(int argc, char **argv)
{
	struct pp_copy_result *results;
	struct copy_args args;
	int ret = parse_copy_args(argc, argv, &args);

	if (ret)
		return ret;
	if (args.path)
		return file_copy(&args);
	results = calloc(args.repeat, sizeof(*results));
	if (!results) {
		fail("no memory for the results; give a smaller --repeat");
		return EXIT_USAGE;
	}
	ret = run_copy(&args, results);
	free(results);
	return ret;
}

const struct command copy_command = {
	.name = "copy",
	.summary = "copy between GPU and host memory by a peer device, or between GPU memory and a file",
	.usage = "copy [--peer lsi0] [--from gpu|host] [--to gpu|host] [--size 8M]\n"
		 "                    [--repeat N] [--verify] [--json]\n"
		 "       peerpin copy --from file:PATH [--to gpu] [--size N] [--repeat N] [--verify] [--json]\n"
		 "       peerpin copy [--from gpu] --to file:PATH [--overwrite] [--size 8M] ...",
	.options =
		"  --peer NAME            peer device: the name of a node below /dev, or a path (lsi0)\n"
		"  --from WHERE           source: gpu, host, or file:PATH for a file or a disk (gpu)\n"
		"  --to WHERE             destination: gpu, host, or file:PATH (gpu)\n"
		"  --overwrite            write into an existing file\n"
		"  --size N               bytes to copy, or a number with K, M or G (8M, or the size of the source file)\n"
		"  --repeat N             number of copies (1)\n"
		"  --verify               fill both sides with random data before each copy, and compare each byte after it\n"
		"  --json                 print one JSON object\n",
	.examples =
		"  peerpin copy --size 32M --repeat 100 --verify\n"
		"  peerpin copy --from file:model.bin --to gpu --verify\n",
	.run = run,
};

// SPDX-License-Identifier: MIT
/*
 * Writes and reads of the CPU through a mapping of GPU memory, by each way of libgdrapi that this CPU has, and by
 * memcpy(). The mapping is that of a region; without /dev/peerpin it is a view, which the GPU's driver maps.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "compat/gdrapi/stream.h"
#include "memory.h"

enum {
	WAYS = 8,		/* ways to copy, with memcpy() */
	ARG_READ = 1 << 8,	/* arg: the number of the way, and this if it reads */
};

/** struct mapping - @at: CPU address of the GPU memory; NULL: not mapped. @view: the length, if a region is mapped */
static struct {
	struct pp_ctx *ctx;
	struct pp_cache *views;
	struct perf_memory gpu, host;
	struct pp_region region;
	bool pinned;
	void *view;
	size_t view_length;
	const struct pp_cache_entry *entry;
	char *at;
} mapping;

/* ---- mappings ----------------------------------------------------------------------------- */

static int open_any(const struct perf_args *args, long arg, struct perf_why *why)
{
	struct perf_why unused;
	int ret;

	(void)args, (void)arg;
	if (!perf_need_ctx(&mapping.ctx, &unused))
		return 0;
	ret = pp_cache_create_view(NULL, &mapping.views);
	return ret ? perf_refuse_call(why, "pp_cache_create_view", ret) : 0;
}

static void close_any(long arg)
{
	(void)arg;
	pp_cache_destroy(mapping.views);
	mapping.views = NULL;
}

static int map_region(uint64_t bytes, struct perf_why *why)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), skip;
	struct pp_why reason = { 0 };
	int ret = pp_pin(mapping.ctx, memory_at(&mapping.gpu), bytes, &mapping.region, &reason);

	if (ret)
		return perf_refuse_pin(why, ret, &reason);
	mapping.pinned = true;
	skip = mapping.gpu.at - mapping.region.addr;
	mapping.view_length = skip % page + bytes;
	ret = pp_region_map(mapping.ctx, &mapping.region, skip / page * page, mapping.view_length, PROT_READ | PROT_WRITE,
			    &mapping.view);
	if (ret)
		return perf_refuse_call(why, "pp_region_map", ret);
	mapping.at = (char *)mapping.view + skip % page;
	return 0;
}

static int map_view(uint64_t bytes, struct perf_why *why)
{
	struct pp_why reason = { 0 };
	const struct pp_view *view;
	int ret = pp_cache_get(mapping.views, memory_at(&mapping.gpu), bytes, &mapping.entry, &reason);

	if (ret == -ENODEV)
		return perf_refuse(why, "the kernel module is not loaded, and the GPU's driver cannot map its dma-bufs");
	if (ret)
		return perf_refuse_pin(why, ret, &reason);
	view = mapping.entry->reg;
	mapping.at = (char *)view->at + (mapping.gpu.at - view->addr);
	return 0;
}

static int begin(uint64_t bytes, long arg, struct perf_why *why)
{
	(void)arg;
	if (bytes % STREAM_LINE)
		return perf_skip(why, "these copies are of whole cache lines of %d bytes", STREAM_LINE);
	if (memory_get(&mapping.gpu, PERF_GPU, bytes, why) || memory_get(&mapping.host, PERF_HOST, bytes, why))
		return -1;
	return mapping.views ? map_view(bytes, why) : map_region(bytes, why);
}

static void end(long arg)
{
	(void)arg;
	if (mapping.view)
		pp_region_unmap(mapping.ctx, mapping.view, mapping.view_length);
	if (mapping.pinned)
		pp_unpin(mapping.ctx, &mapping.region);
	if (mapping.entry)
		pp_cache_put(mapping.views, mapping.entry);
	if (mapping.views)
		pp_cache_flush(mapping.views);
	mapping.view = NULL;
	mapping.pinned = false;
	mapping.entry = NULL;
	memory_put(&mapping.gpu);
	memory_put(&mapping.host);
}

/* ---- copies --------------------------------------------------------------------------------- */

/* The way with the last number, whose name is NULL, is memcpy(). */
static const struct stream *way_of(long arg)
{
	return &gdr_streams[arg & ~ARG_READ];
}

static int write_mapping(uint64_t bytes, long arg, struct perf_why *why)
{
	const struct stream *s = way_of(arg);

	(void)why;
	if (s->name)
		s->store(mapping.at, memory_at(&mapping.host), bytes / STREAM_LINE);
	else
		memcpy(mapping.at, memory_at(&mapping.host), bytes);
	stream_stored();
	return 0;
}

static int read_mapping(uint64_t bytes, long arg, struct perf_why *why)
{
	const struct stream *s = way_of(arg);

	(void)why;
	stream_loads();
	if (s->name)
		s->load(memory_at(&mapping.host), mapping.at, bytes / STREAM_LINE);
	else
		memcpy(memory_at(&mapping.host), mapping.at, bytes);
	return 0;
}

static const struct perf_calls write_calls = {
	.open = open_any, .begin = begin, .run = write_mapping, .end = end, .close = close_any,
};

static const struct perf_calls read_calls = {
	.open = open_any, .begin = begin, .run = read_mapping, .end = end, .close = close_any,
};

static struct {
	char name[40];
	char title[64];
} texts[2 * WAYS];

static struct perf_op make_op(size_t place, long way, bool read)
{
	const char *name = gdr_streams[way].name;

	if (!name)
		name = "memcpy";
	snprintf(texts[place].name, sizeof(texts[place].name), "cpu_%s_%s", read ? "read" : "write", name);
	snprintf(texts[place].title, sizeof(texts[place].title), "CPU %s GPU: %s", read ? "reads" : "writes", name);
	return (struct perf_op){
		.name = texts[place].name, .group = "cpu", .title = texts[place].title,
		.beside = read ? "cuda_to_host" : "cuda_to_gpu", .rate = true,
		.calls = read ? &read_calls : &write_calls, .arg = way | (read ? ARG_READ : 0),
	};
}

/* Some ways differ only in how they write: measure their common read once, by the last of them. */
static bool reads_as_next(long way)
{
	return gdr_streams[way].load == gdr_streams[way + 1].load;
}

const struct perf_op *cpu_ops(void)
{
	static struct perf_op ops[2 * WAYS + 1];
	size_t count = 0;
	int read;
	long way;

	for (read = 0; read < 2; read++) {
		for (way = 0; gdr_streams[way].name && way < WAYS - 1; way++) {
			if (!gdr_streams[way].usable() || (read && reads_as_next(way)))
				continue;
			ops[count] = make_op(count, way, read);
			count++;
		}
		ops[count] = make_op(count, way, read);
		count++;
	}
	return ops;
}

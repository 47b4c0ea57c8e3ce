// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include "copy.h"
#include "handle.h"
#include "lib/cuda/process.h"
#include "public.h"
#include "refuse.h"

const struct stream *gdr_stream_best(void)
{
	static _Atomic(const struct stream *) best;
	const struct stream *s = atomic_load_explicit(&best, memory_order_relaxed);

	if (s)
		return s;
	for (s = gdr_streams; !s->usable(); s++)
		;
	atomic_store_explicit(&best, s, memory_order_relaxed);
	return s;
}

/* Number of bytes from @map to the end of its cache line */
static size_t line_rest(const void *map)
{
	return STREAM_LINE - (uintptr_t)map % STREAM_LINE;
}

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The largest aligned word that begins at @map and has no more than @n bytes */
static size_t word_at(const void *map, size_t n)
{
	size_t word = 8;

	while (word > n || (uintptr_t)map % word)
		word /= 2;
	return word;
}

static void store_words(char *map, const char *from, size_t n)
{
	size_t word;

	for (; n; n -= word, map += word, from += word) {
		word = word_at(map, n);
		stream_store_word(map, from, word);
	}
}

void gdr_stream_to(const struct stream *s, void *map, const void *from, size_t n)
{
	size_t head = min_size(n, line_rest(map) % STREAM_LINE);
	size_t body = (n - head) & -(size_t)STREAM_LINE;
	const char *at = from;
	char *to = map;

	store_words(to, at, head);
	if (body)
		s->store(to + head, at + head, body / STREAM_LINE);
	store_words(to + head + body, at + head + body, n - head - body);
	stream_stored();
}

/* Loads a part of one line, in whole blocks. A block lies within one page, so the whole block is mapped. */
static void load_part(const struct stream *s, char *to, const char *map, size_t n)
{
	_Alignas(STREAM_LINE) char line[STREAM_LINE];
	size_t skip = (uintptr_t)map % STREAM_BLOCK;

	if (!n)
		return;
	s->load_blocks(line, map - skip, (skip + n + STREAM_BLOCK - 1) / STREAM_BLOCK);
	memcpy(to, line + skip, n);
}

void gdr_stream_from(const struct stream *s, void *to, const void *map, size_t n)
{
	size_t head = min_size(n, line_rest(map) % STREAM_LINE);
	size_t body = (n - head) & -(size_t)STREAM_LINE;
	const char *from = map;
	char *at = to;

	stream_loads();
	load_part(s, at, from, head);
	if (body)
		s->load(at + head, from + head, body / STREAM_LINE);
	load_part(s, at + head + body, from + head + body, n - head - body);
}

/* EACCES in a child of fork(): the handle exists there, but the mapping does not. */
static int find_type(gdr_mh_t handle, gdr_mapping_type_t *out)
{
	struct gdr_handle *h = gdr_handle_of(handle);

	if (!h)
		return gdr_refuse(EINVAL, "the gdr_mh_t is not pinned");
	if (!pp_process_is(h->table->mark))
		return gdr_refuse(EACCES, "the mapping belongs to the parent process");
	*out = atomic_load(&h->type);
	return *out == GDR_MAPPING_TYPE_NONE ? gdr_refuse(EINVAL, "the gdr_mh_t is not mapped") : 0;
}

GDR_PUBLIC int gdr_copy_to_mapping(gdr_mh_t handle, void *map_d_ptr, const void *h_ptr, size_t size)
{
	gdr_mapping_type_t type;
	int ret = find_type(handle, &type);

	if (ret)
		return ret;
	if (type == GDR_MAPPING_TYPE_CACHING) {
		memcpy(map_d_ptr, h_ptr, size);
		stream_stored();
	} else {
		gdr_stream_to(gdr_stream_best(), map_d_ptr, h_ptr, size);
	}
	return 0;
}

GDR_PUBLIC int gdr_copy_from_mapping(gdr_mh_t handle, void *h_ptr, const void *map_d_ptr, size_t size)
{
	gdr_mapping_type_t type;
	int ret = find_type(handle, &type);

	if (ret)
		return ret;
	if (type == GDR_MAPPING_TYPE_CACHING) {
		stream_loads();
		memcpy(h_ptr, map_d_ptr, size);
	} else {
		gdr_stream_from(gdr_stream_best(), h_ptr, map_d_ptr, size);
	}
	return 0;
}

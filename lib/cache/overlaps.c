// SPDX-License-Identifier: MIT
#include "overlaps.h"

enum { LONG_RANGE = 64 };	/* in granules of the smallest class */

static uint64_t classes_of_all(const struct pp_overlaps *o)
{
	return atomic_load_explicit((_Atomic uint64_t *)&o->index->classes, memory_order_relaxed);
}

static const struct pp_table *table_of(const struct pp_overlaps *o)
{
	return atomic_load_explicit((_Atomic(struct pp_table *) *)&o->index->table, memory_order_relaxed);
}

static uint64_t bytes_of(const struct pp_bucket *b)
{
	return atomic_load_explicit((_Atomic uint64_t *)&b->bytes, memory_order_relaxed);
}

static unsigned int class_now(const struct pp_overlaps *o)
{
	return __builtin_ctzll(o->classes);
}

static void bucket_begin(struct pp_overlaps *o)
{
	o->match = pp_bytes_match(bytes_of(pp_bucket_at(table_of(o), o->key.bucket)), &o->key);
}

static void granule_begin(struct pp_overlaps *o)
{
	const struct pp_table *t = table_of(o);
	unsigned int k = class_now(o);

	o->key = pp_key_of(t, o->granule << k, k);
	o->left = t->mask + 1;
	bucket_begin(o);
}

/* The current granule, or the next one that may have entries: granules in empty chunks are skipped. */
static bool granule_skip(struct pp_overlaps *o)
{
	unsigned int k = class_now(o), shift = PP_CHUNK_SHIFT - k;
	uint64_t last = (o->part.end - 1) >> k;

	if (k < PP_CHUNK_SHIFT && o->chunks != ~0u)
		while (o->granule <= last && !(o->chunks >> (o->granule >> shift & 31) & 1))
			o->granule = ((o->granule >> shift) + 1) << shift;
	return o->granule <= last;
}

/* The first granule of the first class that has one */
static void class_begin(struct pp_overlaps *o)
{
	for (; o->classes; o->classes &= o->classes - 1) {
		o->granule = o->part.start >> class_now(o);
		if (granule_skip(o)) {
			granule_begin(o);
			return;
		}
	}
}

static void granule_next(struct pp_overlaps *o)
{
	o->granule++;
	if (granule_skip(o)) {
		granule_begin(o);
		return;
	}
	o->classes &= o->classes - 1;
	class_begin(o);
}

/* Is there one class, and has the part at most two of its granules? Then their search costs less than the block's word. */
static bool is_part_short(const struct pp_overlaps *o, uint64_t classes)
{
	return !(classes & (classes - 1)) && classes >= pp_range_length(&o->part);
}

/* The next part: from @start to the end of its 1 GiB. Returns false if @start is beyond the range or no class is left. */
static bool block_begin(struct pp_overlaps *o, uint64_t start)
{
	uint64_t classes = classes_of_all(o) & ~PP_LARGE_CLASSES, last;

	if (!classes || start >= o->range.end)
		return false;
	last = start | ((1ull << PP_BLOCK_SHIFT) - 1);
	o->part.start = start;
	o->part.end = last < o->range.end - 1 ? last + 1 : o->range.end;
	o->chunks = ~0u;
	if (is_part_short(o, classes))
		o->classes = classes;
	else
		o->classes = pp_block_part(table_of(o), start, o->part.end - 1, &o->chunks) & classes;
	class_begin(o);
	return true;
}

static void larger_begin(struct pp_overlaps *o)
{
	o->part = o->range;
	o->chunks = ~0u;
	o->classes = classes_of_all(o) & PP_LARGE_CLASSES;
	class_begin(o);
}

/* The first part (larger classes) is the whole range. Then the walk over blocks begins at the range's start. */
static bool part_next(struct pp_overlaps *o, bool *larger)
{
	uint64_t start = *larger ? o->range.start : o->part.end;

	*larger = false;
	return block_begin(o, start);
}

static uint64_t granules_here(const struct pp_overlaps *o)
{
	uint64_t classes = o->classes, granules = 0;

	for (; classes; classes &= classes - 1) {
		unsigned int k = __builtin_ctzll(classes);

		granules += ((o->part.end - 1) >> k) - (o->part.start >> k) + 1;
	}
	return granules;
}

/* The slots of a line that has units from @unit to the end of the block, or to @last if that comes first */
static uint64_t slots_of(const struct pp_line *l, uint64_t unit, uint64_t last)
{
	uint64_t end = unit | PP_UNITS_MASK;

	return pp_line_tag_load(l) ? pp_line_overlap(l, unit, end < last ? end : last) : 0;
}

static void line_begin(struct pp_overlaps *o)
{
	struct pp_line_walk *w = &o->lines;

	w->line = pp_line_of(&table_of(o)->lines, w->unit);
	w->match = slots_of(w->line, w->unit, w->last);
}

static void lines_begin(struct pp_overlaps *o)
{
	const struct pp_lines *lines = &table_of(o)->lines;

	o->lines.unit = 1;
	if (!o->index->use.lines.entries)
		return;
	o->lines.unit = pp_unit_of(lines, o->range.start);
	o->lines.last = pp_unit_of(lines, o->range.end - 1);
	line_begin(o);
}

/* For long ranges: would the walk need more probes (one per line, granule and block) than the pool has entries? */
static bool pool_is_shorter(struct pp_overlaps *o)
{
	uint64_t cost;
	bool larger = true;

	if (pp_range_length(&o->range) >> PP_CLASS_MIN < LONG_RANGE)
		return false;
	cost = (o->lines.last - o->lines.unit + PP_UNITS_MASK) >> PP_UNITS_SHIFT;
	larger_begin(o);
	do
		cost += granules_here(o) + 1;
	while (cost <= o->pool->ever && part_next(o, &larger));
	return cost > o->pool->ever;
}

void pp_overlaps_begin(struct pp_overlaps *o, const struct pp_index *x, const struct pp_pool *pool,
		       const struct pp_range *range)
{
	*o = (struct pp_overlaps){
		.index = x, .pool = pool, .range = *range, .larger = true, .at = PP_FIRST_ENTRY,
	};
	lines_begin(o);
	o->all = pool_is_shorter(o);
	if (!o->all)
		larger_begin(o);
}

static struct pp_entry *next_of_all(struct pp_overlaps *o)
{
	while (o->at < o->pool->ever) {
		struct pp_entry *e = pp_entry_at(o->pool, o->at++);
		struct pp_range range = pp_entry_range(e);

		if (pp_entry_is_indexed(e) && pp_range_overlaps(&range, &o->range))
			return e;
	}
	return NULL;
}

/* Does the entry overlap, and is this the first granule in which the walk meets the entry? */
static bool belongs_here(const struct pp_overlaps *o, const struct pp_entry *e)
{
	struct pp_range range = pp_entry_range(e);
	unsigned int k = class_now(o);
	uint64_t first = (range.start > o->range.start ? range.start : o->range.start) >> k;

	return pp_class_of(e->pub.length) == k && pp_range_overlaps(&range, &o->range) && first == o->granule;
}

/* The next entry of the current granule; skips slots of other keys. */
static struct pp_entry *next_of_granule(struct pp_overlaps *o)
{
	const struct pp_table *t = table_of(o);

	for (;;) {
		const struct pp_bucket *b = pp_bucket_at(t, o->key.bucket);

		while (o->match) {
			uint64_t slot = pp_slot_load(b, o->match);
			struct pp_entry *e = slot ? pp_entry_at(o->pool, pp_slot_entry(slot)) : NULL;

			o->match &= o->match - 1;
			if (e && belongs_here(o, e))
				return e;
		}
		if (!pp_bytes_passed(bytes_of(b)) || !--o->left)
			return NULL;
		o->key.bucket++;
		bucket_begin(o);
	}
}

/* Does the entry overlap, and is this the first block in which the walk meets the entry? */
static bool belongs_to_block(const struct pp_overlaps *o, const struct pp_entry *e)
{
	struct pp_range range = pp_entry_range(e);
	uint64_t start = range.start > o->range.start ? range.start : o->range.start;

	return pp_range_overlaps(&range, &o->range) &&
	       (pp_unit_of(&table_of(o)->lines, start) ^ o->lines.unit) <= PP_UNITS_MASK;
}

static struct pp_entry *next_of_line(struct pp_overlaps *o)
{
	struct pp_line_walk *w = &o->lines;

	while (w->match) {
		struct pp_entry *e = pp_entry_at(o->pool, pp_line_entry(w->line, w->match));

		w->match &= w->match - 1;
		if (belongs_to_block(o, e))
			return e;
	}
	return NULL;
}

static struct pp_entry *next_of_lines(struct pp_overlaps *o)
{
	struct pp_line_walk *w = &o->lines;

	while (w->unit <= w->last) {
		struct pp_entry *e = next_of_line(o);

		if (e)
			return e;
		w->unit = (w->unit | PP_UNITS_MASK) + 1;
		if (w->unit <= w->last)
			line_begin(o);
	}
	return NULL;
}

static struct pp_entry *next_of_part(struct pp_overlaps *o)
{
	for (; o->classes; granule_next(o)) {
		struct pp_entry *e = next_of_granule(o);

		if (e)
			return e;
	}
	return NULL;
}

struct pp_entry *pp_overlaps_next(struct pp_overlaps *o)
{
	struct pp_entry *e;

	if (o->all)
		return next_of_all(o);
	e = next_of_lines(o);
	if (e)
		return e;
	do
		e = next_of_part(o);
	while (!e && part_next(o, &o->larger));
	return e;
}

/* ---- the quick test ------------------------------------------------------------------ */

enum { FEW_PROBES = 2 };

static bool none_in_lines(const struct pp_lines *lines, const struct pp_range *range)
{
	uint64_t unit = pp_unit_of(lines, range->start), last = pp_unit_of(lines, range->end - 1);
	unsigned int i;

	for (i = 0; i < FEW_PROBES && unit <= last; i++, unit = (unit | PP_UNITS_MASK) + 1)
		if (slots_of(pp_line_of(lines, unit), unit, last))
			return false;
	return unit > last;
}

static bool none_of_class(const struct pp_table *t, const struct pp_range *range, unsigned int k)
{
	uint64_t granule = range->start >> k, last = (range->end - 1) >> k;
	unsigned int i;

	for (i = 0; i < FEW_PROBES && granule <= last; i++, granule++) {
		struct pp_key key = pp_key_of(t, granule << k, k);
		uint64_t bytes = bytes_of(pp_bucket_at(t, key.bucket));

		if (pp_bytes_match(bytes, &key) || pp_bytes_passed(bytes))
			return false;
	}
	return granule > last;
}

static bool none_in_buckets(const struct pp_table *t, const struct pp_range *range, uint64_t classes)
{
	uint32_t chunks;

	if (!(classes & (classes - 1)))
		return none_of_class(t, range, __builtin_ctzll(classes));
	if (classes & PP_LARGE_CLASSES || range->start >> PP_BLOCK_SHIFT != (range->end - 1) >> PP_BLOCK_SHIFT)
		return false;
	return !pp_block_part(t, range->start, range->end - 1, &chunks);
}

bool pp_overlaps_none(const struct pp_index *x, const struct pp_range *range)
{
	const struct pp_table *t = atomic_load_explicit((_Atomic(struct pp_table *) *)&x->table, memory_order_relaxed);
	uint64_t classes = atomic_load_explicit((_Atomic uint64_t *)&x->classes, memory_order_relaxed);

	return (!classes || none_in_buckets(t, range, classes)) &&
	       (!x->use.lines.entries || none_in_lines(&t->lines, range));
}

// SPDX-License-Identifier: MIT
#include <errno.h>
#include <string.h>
#include "table.h"

enum {
	FIRST_BITS = 4,
	FIRST_BLOCK_BITS = 6,
	FIRST_LINE_BITS = 4,
	FIRST_LINE_SHIFT = 31,
	LEAST_LINE_SHIFT = 20,
	MOST_LINE_SHIFT = 35,
	LINE_SPAN_SHIFT = 2,	/* an entry in the lines has at most 2^this times the length of a block */
};

/* ---- classes ------------------------------------------------------------------------- */

static uint64_t classes_now(const struct pp_index *x)
{
	return atomic_load_explicit((_Atomic uint64_t *)&x->classes, memory_order_relaxed);
}

static void set_classes(struct pp_index *x, uint64_t classes)
{
	bool one = classes && !(classes & (classes - 1));

	atomic_store_explicit(&x->classes, classes, memory_order_release);
	atomic_store_explicit(&x->only, one ? __builtin_ctzll(classes) : 0, memory_order_release);
}

static bool is_main(const struct pp_index *x, unsigned int k)
{
	return 2ull * x->count[k] > x->entries;
}

static void count_add(struct pp_index *x, unsigned int k)
{
	x->entries++;
	x->count[k]++;
	if (is_main(x, k))
		x->main = k;
	else if (!is_main(x, x->main))
		x->main = 0;
}

static void count_sub(struct pp_index *x, unsigned int k)
{
	x->entries--;
	x->count[k]--;
	if (!is_main(x, x->main))
		x->main = 0;
}

/* ---- entries in a table ------------------------------------------------------------------ */

static bool fits_in_lines(const struct pp_table *t, unsigned int k)
{
	return k <= t->shape.line_shift + LINE_SPAN_SHIFT;
}

static bool belongs_in_lines(const struct pp_index *x, const struct pp_table *t, unsigned int k)
{
	return k != x->main && fits_in_lines(t, k);
}

/* Returns true if the entry is the only one of its class in the buckets. */
static bool entry_add(struct pp_index *x, const struct pp_table *t, const struct pp_pool *pool,
		      const struct pp_entry *e)
{
	struct pp_range range = pp_entry_range(e);
	unsigned int k = pp_class_of(e->pub.length);
	uint32_t index = pp_entry_index(pool, e);

	if (belongs_in_lines(x, t, k) && pp_lines_add(&t->lines, &x->use.lines, &range, index))
		return false;
	pp_table_add(t, &x->use, &range, k, index);
	return x->use.in_buckets[k] == 1;
}

/* Returns true if the buckets have no entry of the class any more. */
static bool entry_remove(struct pp_index *x, const struct pp_table *t, const struct pp_pool *pool,
			 const struct pp_entry *e)
{
	struct pp_range range = pp_entry_range(e);
	unsigned int k = pp_class_of(e->pub.length);
	uint32_t index = pp_entry_index(pool, e);

	if (x->use.lines.entries && fits_in_lines(t, k) && pp_lines_remove(&t->lines, &x->use.lines, &range, index))
		return false;
	pp_table_remove(t, &x->use, &range, k, index);
	return !x->use.in_buckets[k];
}

/* ---- tables ------------------------------------------------------------------------- */

static struct pp_table *table_now(const struct pp_index *x)
{
	return atomic_load_explicit((_Atomic(struct pp_table *) *)&x->table, memory_order_relaxed);
}

/* May one more entry come into the buckets? At most 4/5 of the slots and 1/2 of the block words may be in use. */
static bool slots_suffice(const struct pp_index *x, const struct pp_shape *shape)
{
	return (x->use.keys + 2) * 5 <= 4ull * PP_SLOTS << shape->bits;
}

static bool words_suffice(const struct pp_index *x, const struct pp_shape *shape)
{
	return (x->use.blocks_used + 2) * 2 <= 1ull << shape->block_bits;
}

/* Returns false if the slots or the block words do not suffice. */
static bool table_fill(struct pp_index *x, struct pp_table *t, const struct pp_pool *pool)
{
	uint32_t i;

	x->use = (struct pp_index_use){ 0 };
	for (i = PP_FIRST_ENTRY; i < pool->ever; i++) {
		struct pp_entry *e = pp_entry_at(pool, i);

		if (!pp_entry_is_indexed(e))
			continue;
		if (!slots_suffice(x, &t->shape) || !words_suffice(x, &t->shape))
			return false;
		entry_add(x, t, pool, e);
	}
	return true;
}

static uint64_t classes_in_buckets(const struct pp_index *x)
{
	uint64_t classes = 0;
	unsigned int k;

	for (k = PP_CLASS_MIN; k <= PP_CLASS_MAX; k++)
		classes |= (uint64_t)!!x->use.in_buckets[k] << k;
	return classes;
}

/*
 * An older generation of the same shape is used again, so the tables take a bounded part of the address space. A reader
 * that still uses the older generation may miss entries, and then looks again with the lock held.
 */
static struct pp_table *table_next(struct pp_table *now, const struct pp_shape *shape)
{
	struct pp_table **at = &now->older, *t;

	while (*at && memcmp(&(*at)->shape, shape, sizeof(*shape)))
		at = &(*at)->older;
	t = *at;
	if (!t)
		return pp_table_new(shape);
	*at = t->older;
	return t;
}

/*
 * Returns a table with all entries. Entries that were in the lines may be in the buckets now, which then need another
 * shape. A table that did not suffice stays mapped: it may be an older generation, which readers may still use.
 */
static struct pp_table *table_make(struct pp_index *x, const struct pp_pool *pool, struct pp_shape *shape)
{
	struct pp_table *now = table_now(x), *t;

	while ((t = table_next(now, shape)) && !table_fill(x, t, pool)) {
		shape->bits += !slots_suffice(x, shape);
		shape->block_bits += !words_suffice(x, shape);
		pp_table_empty(t);
		t->older = now->older;
		now->older = t;
	}
	return t;
}

/*
 * An entry may be in the lines of the old table and in the buckets of the new table. So @classes has the classes of both
 * tables before readers find the new table, and until the old table is empty.
 */
static int table_replace(struct pp_index *x, const struct pp_pool *pool, struct pp_shape *shape)
{
	struct pp_table *old = table_now(x), *t;
	struct pp_index_use before = x->use;

	t = table_make(x, pool, shape);
	if (!t) {
		x->use = before;
		return -ENOMEM;
	}
	set_classes(x, classes_now(x) | classes_in_buckets(x));
	t->older = old;
	/* pairs with the readers' acquire: they find the table filled */
	atomic_store_explicit(&x->table, t, memory_order_release);
	pp_table_empty(old);
	set_classes(x, classes_in_buckets(x));
	return 0;
}

/* ---- shape ---------------------------------------------------------------------------- */

/* Number of entries that belong in the lines, but are in the buckets */
static uint32_t count_crowded(const struct pp_index *x, const struct pp_table *t)
{
	uint32_t crowded = 0;
	unsigned int k;

	for (k = PP_CLASS_MIN; fits_in_lines(t, k); k++)
		if (k != x->main)
			crowded += x->use.in_buckets[k];
	return crowded;
}

/*
 * If the blocks are half as long, more entries find a place, but entries of the longest class no longer fit. If there is
 * a main class, the limit of crowded entries is lower: while the buckets have a second class, each hit of the main class
 * costs more.
 */
static bool are_blocks_too_long(const struct pp_index *x, const struct pp_table *t)
{
	unsigned int longest = t->shape.line_shift + LINE_SPAN_SHIFT;
	uint32_t crowded = count_crowded(x, t), lost = longest == x->main ? 0 : x->count[longest];

	return crowded > x->use.lines.entries / (x->main ? 256 : 64) && crowded > 2 * lost;
}

/*
 * The number of lines is at most the number of entries plus 512. If the lines are full at this limit, the blocks get
 * longer. A new table takes in all entries. So the length changes only after as many insertions as a quarter of the
 * entries.
 */
static void shape_lines(struct pp_index *x, const struct pp_table *t, struct pp_shape *shape)
{
	bool full = pp_lines_are_full(&t->lines, &x->use.lines);

	if (full && 2ull << shape->line_bits <= x->entries + 512ull) {
		shape->line_bits++;
		return;
	}
	if (4ull * x->since < x->entries)
		return;
	x->since = 0;
	if (full && shape->line_shift < MOST_LINE_SHIFT)
		shape->line_shift++;
	else if (!full && shape->line_shift > LEAST_LINE_SHIFT && are_blocks_too_long(x, t))
		shape->line_shift--;
}

/* An entry takes up to two slots and two block words. A new table drops the words of blocks without entries. */
static void shape_buckets(const struct pp_index *x, struct pp_shape *shape)
{
	shape->bits += !slots_suffice(x, shape);
	shape->block_bits += x->use.blocks * 3 > 1ull << shape->block_bits;
}

/* Room for an entry of class @k. If there is no memory for a new shape of the lines alone, the table stays as it is. */
static int make_room(struct pp_index *x, const struct pp_pool *pool, unsigned int k)
{
	const struct pp_table *t = table_now(x);
	bool suffice = slots_suffice(x, &t->shape) && words_suffice(x, &t->shape);
	struct pp_shape shape;
	int ret;

	x->since++;
	if (suffice && !belongs_in_lines(x, t, k))
		return 0;
	shape = t->shape;
	if (belongs_in_lines(x, t, k))
		shape_lines(x, t, &shape);
	if (suffice && shape.line_bits == t->shape.line_bits && shape.line_shift == t->shape.line_shift)
		return 0;
	shape_buckets(x, &shape);
	ret = table_replace(x, pool, &shape);
	return suffice ? 0 : ret;
}

int pp_index_insert(struct pp_index *x, const struct pp_pool *pool, struct pp_entry *e)
{
	unsigned int k = pp_class_of(e->pub.length);
	int ret = make_room(x, pool, k);

	if (ret)
		return ret;
	count_add(x, k);
	if (entry_add(x, table_now(x), pool, e))
		set_classes(x, classes_now(x) | 1ull << k);
	return 0;
}

void pp_index_remove(struct pp_index *x, const struct pp_pool *pool, struct pp_entry *e)
{
	unsigned int k = pp_class_of(e->pub.length);

	count_sub(x, k);
	if (entry_remove(x, table_now(x), pool, e))
		set_classes(x, classes_now(x) & ~(1ull << k));
}

int pp_index_init(struct pp_index *x)
{
	const struct pp_shape first = { FIRST_BITS, FIRST_BLOCK_BITS, FIRST_LINE_BITS, FIRST_LINE_SHIFT };
	struct pp_table *t = pp_table_new(&first);

	*x = (struct pp_index){ 0 };
	atomic_init(&x->table, t);
	return t ? 0 : -ENOMEM;
}

void pp_index_end(struct pp_index *x)
{
	struct pp_table *t = table_now(x), *older;

	for (; t; t = older) {
		older = t->older;
		pp_table_free(t);
	}
}

// SPDX-License-Identifier: MIT
#include <sys/mman.h>
#include "pages.h"
#include "table.h"

/*
 * The word of a block. Bits 0 to 18: its classes, from PP_CLASS_MIN on; bits 19 to 31: its
 * tag. Two blocks of the same tag may share a word, which then has the classes of both.
 */
#define BLOCK_CLASSES 0x7ffffu
#define BLOCK_TAG (~BLOCK_CLASSES)
#define BLOCK_TAG_ONE (BLOCK_CLASSES + 1)

static uint64_t load(const _Atomic uint64_t *word)
{
	return atomic_load_explicit((_Atomic uint64_t *)word, memory_order_relaxed);
}

static void store(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
}

/* ---- blocks ------------------------------------------------------------------------- */

static uint64_t block_hash(uint64_t number)
{
	return number * PP_HASH_FACTOR;
}

/* Never 0, because 0 is an empty word */
static uint32_t block_tag(uint64_t number)
{
	uint32_t tag = block_hash(number) >> 32 & BLOCK_TAG;

	return tag ? tag : BLOCK_TAG_ONE;
}

static uint32_t block_load(const struct pp_table *t, uint64_t at)
{
	/* pairs with block_store(): the reader finds the entries of these classes */
	return atomic_load_explicit(&t->blocks[at], memory_order_acquire);
}

static void block_store(const struct pp_table *t, uint64_t at, uint32_t word)
{
	atomic_store_explicit(&t->blocks[at], word, memory_order_release);
}

/*
 * Index of the word of a block, or of the empty word that ends the search. The words of adjacent blocks are not
 * neighbours (pp_line_place()). The search begins by the bits of the hash below those of the tag.
 */
static uint64_t block_find(const struct pp_table *t, uint64_t number, uint32_t tag)
{
	uint64_t mask = (1ull << t->shape.block_bits) - 1, at = block_hash(number) << 13 >> (64 - t->shape.block_bits);
	uint32_t word;

	while ((word = block_load(t, at)) && (word & BLOCK_TAG) != tag)
		at = (at + 1) & mask;
	return at;
}

uint64_t pp_block_classes(const struct pp_table *t, uint64_t addr)
{
	uint64_t number = addr >> PP_BLOCK_SHIFT;
	uint32_t word = block_load(t, block_find(t, number, block_tag(number)));

	return (uint64_t)(word & BLOCK_CLASSES) << PP_CLASS_MIN | PP_LARGE_CLASSES;
}

static uint32_t chunk(uint64_t addr)
{
	return addr >> PP_CHUNK_SHIFT & 31;
}

/* The chunks of a part of a block */
static uint32_t chunks_of(uint64_t start, uint64_t last)
{
	return ~0u << chunk(start) & ~0u >> (31 - chunk(last));
}

uint64_t pp_block_part(const struct pp_table *t, uint64_t start, uint64_t last, uint32_t *chunks)
{
	uint64_t number = start >> PP_BLOCK_SHIFT, at = block_find(t, number, block_tag(number));

	*chunks = t->chunks[at];
	if (!(*chunks & chunks_of(start, last)))
		return 0;
	return (uint64_t)(block_load(t, at) & BLOCK_CLASSES) << PP_CLASS_MIN;
}

static void block_add(const struct pp_table *t, struct pp_index_use *use, uint64_t number, unsigned int k,
		      uint32_t chunks)
{
	uint32_t tag = block_tag(number), word;
	uint64_t at = block_find(t, number, tag);

	word = block_load(t, at);
	use->blocks_used += !word;
	use->blocks += !t->counts[at]++;
	t->chunks[at] |= chunks;
	block_store(t, at, tag | word | 1u << (k - PP_CLASS_MIN));
}

/* Single classes and chunks have no counts, so they are cleared only when the block's last entry leaves. */
static void block_sub(const struct pp_table *t, struct pp_index_use *use, uint64_t number)
{
	uint32_t tag = block_tag(number);
	uint64_t at = block_find(t, number, tag);

	if (--t->counts[at])
		return;
	use->blocks--;
	t->chunks[at] = 0;
	block_store(t, at, tag);
}

/* ---- buckets ------------------------------------------------------------------------ */

static struct pp_bucket *bucket(const struct pp_table *t, uint64_t n)
{
	return (struct pp_bucket *)pp_bucket_at(t, n);
}

/* An empty slot, or -1. The lowest byte that the test finds is 0; it may find higher bytes in error. */
static int free_in(const struct pp_bucket *b)
{
	uint64_t bytes = load(&b->bytes), empty = (bytes - PP_EACH_BYTE) & ~bytes & PP_EACH_BYTE << 7 & ~0ull >> 8;

	return empty ? __builtin_ctzll(empty) / 8 : -1;
}

static int slot_in(const struct pp_bucket *b, const struct pp_key *key, uint64_t slot)
{
	uint64_t match = pp_bytes_match(load(&b->bytes), key);

	for (; match; match &= match - 1)
		if (load(&b->slots[__builtin_ctzll(match) / 8]) == slot)
			return __builtin_ctzll(match) / 8;
	return -1;
}

/* A count that reached 255 stays there, as the true number is unknown. */
static void passed_by(const struct pp_table *t, uint64_t from, uint64_t to, int64_t by)
{
	for (; from != to; from++) {
		struct pp_bucket *b = bucket(t, from);
		uint64_t bytes = load(&b->bytes);

		if (bytes >> 56 < 255)
			store(&b->bytes, bytes + ((uint64_t)by << 56));
	}
}

static uint64_t byte_in(int i, uint64_t bytes)
{
	return bytes & 0xffull << 8 * i;
}

static void slot_put(const struct pp_table *t, const struct pp_key *key, uint64_t slot)
{
	uint64_t n = key->bucket;
	struct pp_bucket *b;
	int i;

	while ((i = free_in(bucket(t, n))) < 0)
		n++;
	b = bucket(t, n);
	passed_by(t, key->bucket, n, 1);
	store(&b->slots[i], slot);
	store(&b->bytes, load(&b->bytes) | byte_in(i, key->bytes));
}

static void slot_clear(const struct pp_table *t, const struct pp_key *key, uint64_t slot)
{
	uint64_t n = key->bucket;
	struct pp_bucket *b;
	int i;

	while ((i = slot_in(bucket(t, n), key, slot)) < 0)
		n++;
	b = bucket(t, n);
	store(&b->bytes, load(&b->bytes) & ~byte_in(i, ~0ull));
	store(&b->slots[i], 0);
	passed_by(t, key->bucket, n, -1);
}

/* ---- entries ------------------------------------------------------------------------ */

/* The value of an entry's slot for one of its granules */
static uint64_t slot_of(const struct pp_range *range, uint64_t granule, unsigned int k, uint32_t index)
{
	uint8_t first = range->start >> k == granule ? range->start >> (k - 8) : 0;
	uint8_t last = (range->end - 1) >> k == granule ? (range->end - 1) >> (k - 8) : 0xff;

	return pp_slot_of(index, first, last);
}

static void slots_add(const struct pp_table *t, struct pp_index_use *use, const struct pp_range *range, unsigned int k,
		      uint32_t index)
{
	uint64_t g;

	for (g = range->start >> k; g <= (range->end - 1) >> k; g++, use->keys++) {
		struct pp_key key = pp_key_of(t, g << k, k);

		slot_put(t, &key, slot_of(range, g, k, index));
	}
}

static void slots_sub(const struct pp_table *t, struct pp_index_use *use, const struct pp_range *range, unsigned int k,
		      uint32_t index)
{
	uint64_t g;

	for (g = range->start >> k; g <= (range->end - 1) >> k; g++, use->keys--) {
		struct pp_key key = pp_key_of(t, g << k, k);

		slot_clear(t, &key, slot_of(range, g, k, index));
	}
}

static void blocks_add(const struct pp_table *t, struct pp_index_use *use, const struct pp_range *range, unsigned int k)
{
	uint64_t last = range->end - 1, end = last >> PP_BLOCK_SHIFT, g = range->start >> PP_BLOCK_SHIFT;

	for (; g < end; g++)
		block_add(t, use, g, k, ~0u << (g == range->start >> PP_BLOCK_SHIFT ? chunk(range->start) : 0));
	block_add(t, use, end, k, chunks_of(range->start >> PP_BLOCK_SHIFT == end ? range->start : 0, last));
}

static void blocks_sub(const struct pp_table *t, struct pp_index_use *use, const struct pp_range *range)
{
	uint64_t g;

	for (g = range->start >> PP_BLOCK_SHIFT; g <= (range->end - 1) >> PP_BLOCK_SHIFT; g++)
		block_sub(t, use, g);
}

void pp_table_add(const struct pp_table *t, struct pp_index_use *use, const struct pp_range *range, unsigned int k,
		  uint32_t index)
{
	slots_add(t, use, range, k, index);
	if (k <= PP_BLOCK_SHIFT)
		blocks_add(t, use, range, k);
	use->in_buckets[k]++;
}

void pp_table_remove(const struct pp_table *t, struct pp_index_use *use, const struct pp_range *range, unsigned int k,
		     uint32_t index)
{
	slots_sub(t, use, range, k, index);
	if (k <= PP_BLOCK_SHIFT)
		blocks_sub(t, use, range);
	use->in_buckets[k]--;
}

/* ---- memory ------------------------------------------------------------------------- */

static size_t buckets_size(const struct pp_table *t)
{
	return sizeof(struct pp_bucket) << t->shape.bits;
}

static size_t blocks_size(const struct pp_table *t)
{
	return (sizeof(*t->blocks) + sizeof(*t->counts) + sizeof(*t->chunks)) << t->shape.block_bits;
}

static size_t lines_size(const struct pp_table *t)
{
	return sizeof(struct pp_line) << t->shape.line_bits;
}

void pp_table_free(struct pp_table *t)
{
	if (t->lines.at)
		pp_pages_unmap(t->lines.at, lines_size(t));
	if (t->buckets)
		pp_pages_unmap(t->buckets, buckets_size(t));
	if (t->blocks)
		pp_pages_unmap(t->blocks, blocks_size(t));
	pp_pages_unmap(t, sizeof(*t));
}

/* Does not call malloc(), whose mmap() and munmap() calls may be intercepted (pages.h). */
struct pp_table *pp_table_new(const struct pp_shape *shape)
{
	struct pp_table *t = pp_pages_map(sizeof(*t), PROT_READ | PROT_WRITE);

	if (!t)
		return NULL;
	t->shape = *shape;
	t->shift = 64 - shape->bits;
	t->mask = (1ull << shape->bits) - 1;
	t->lines.tag_shift = 64 - shape->line_bits;
	t->lines.shift = shape->line_shift - PP_UNITS_SHIFT;
	t->lines.mask = (1ull << shape->line_bits) - 1;
	t->buckets = pp_pages_map(buckets_size(t), PROT_READ | PROT_WRITE);
	t->blocks = pp_pages_map(blocks_size(t), PROT_READ | PROT_WRITE);
	t->lines.at = pp_pages_map(lines_size(t), PROT_READ | PROT_WRITE);
	if (!t->buckets || !t->blocks || !t->lines.at) {
		pp_table_free(t);
		return NULL;
	}
	t->counts = (uint32_t *)(t->blocks + (1ull << shape->block_bits));
	t->chunks = t->counts + (1ull << shape->block_bits);
	return t;
}

/* Gives the pages back to the kernel. The kernel refuses locked pages, so these are zeroed. */
static void pages_empty(void *at, size_t size)
{
	_Atomic uint64_t *word = at, *end = word + size / sizeof(*word);

	if (pp_pages_empty(at, size))
		return;
	for (; word < end; word++)
		store(word, 0);
}

void pp_table_empty(struct pp_table *t)
{
	pages_empty(t->buckets, buckets_size(t));
	pages_empty(t->blocks, blocks_size(t));
	pages_empty(t->lines.at, lines_size(t));
}

/* SPDX-License-Identifier: MIT */
/*
 * An index that finds entries by address. It keeps no order among them.
 *
 * Each entry is in one of two hash tables:
 * - in the lines of the blocks of address space that it overlaps (lines.h), if sizes
 *   mix. A look-up usually costs one cache line, whatever the entry's length is;
 * - else in the buckets of its granules. An entry of more than 2^(k-1) and at most 2^k
 *   bytes is of class k and lies in one or two granules of 2^k bytes. A look-up probes
 *   once for each class in the buckets. If the buckets have three or more classes, a third
 *   table (@blocks) gives the classes in the block of 1 GiB that contains an address. The
 *   blocks of the lines have another length.
 *
 * A line takes seven entries; the buckets take any number. So these entries are inserted
 * into the buckets: entries of the *main class*, which is the class of more than half of all
 * entries; entries much longer than a line's block; entries that find no place in a line.
 * The blocks of the lines get shorter if too many entries find no place.
 * If the buckets have only the main class, a look-up in them costs one cache line, too.
 *
 * A bucket is a cache line: seven slots and a word. The word has
 * a byte of the hash for each slot, so that one comparison finds the slot. The
 * highest byte counts the keys that found the bucket full and went on to the next.
 * A slot holds the index of its entry, and which 256ths of the granule the entry
 * covers. So a reader seldom looks at an entry in vain.
 *
 * One thread at a time changes the index (the cache's lock); readers need no lock.
 * A writer first raises the counts of the buckets that the key passes, then writes
 * the slot, then the slot's byte, and clears in the opposite order. So a reader finds each
 * key that is present during its whole look-up. A replaced table is emptied but stays
 * mapped: a reader that still uses this table misses, and looks again with the lock held.
 * An entry never moves between the lines and the buckets of one table. It moves only when
 * the table is replaced.
 */
#ifndef PP_INDEX_H
#define PP_INDEX_H

#include "lines.h"

enum {
	PP_SLOTS = 7,
	PP_CLASS_MIN = 12,	/* a page */
	PP_CLASS_MAX = 63,
	PP_BLOCK_SHIFT = 30,
	PP_CHUNK_SHIFT = 25,	/* a block has 32 chunks */
};

/* classes of entries larger than 1 GiB: assumed to be in every block of 1 GiB */
#define PP_LARGE_CLASSES (~0ull << (PP_BLOCK_SHIFT + 1))

/**
 * struct pp_bucket
 * @bytes: one hash byte for each slot, 0: empty; the highest byte: number of keys
 *	that went on to the next bucket, 255: that many or more
 */
struct pp_bucket {
	_Atomic uint64_t slots[PP_SLOTS];
	_Atomic uint64_t bytes;
};

_Static_assert(sizeof(struct pp_bucket) == 64, "a bucket is one cache line");

/**
 * struct pp_shape - sizes of a table
 * @bits: 2^bits buckets
 * @block_bits: 2^block_bits words of blocks of 1 GiB
 * @line_bits: 2^line_bits lines
 * @line_shift: a line is for a block of 2^line_shift bytes of address space
 */
struct pp_shape {
	unsigned int bits;
	unsigned int block_bits;
	unsigned int line_bits;
	unsigned int line_shift;
};

/**
 * struct pp_table - one generation of all tables. A reader uses fields of the first cache line only. Exception: with
 *	three or more classes in the buckets, a look-up also reads @shape
 * @buckets: the hash table
 * @shift: 64 - bits
 * @mask: 2^bits - 1
 * @lines: lines of blocks of 2^line_shift bytes (@shape)
 * @blocks: for each block of 1 GiB: the classes of its entries in the buckets
 * @counts: number of entries in each of @blocks; for writers only
 * @chunks: for each of @blocks, a bit for each chunk that has had an entry since the block last had none; for writers only
 * @older: next table in the list of older generations, which are empty
 */
struct pp_table {
	struct pp_bucket *buckets;
	unsigned int shift;
	uint64_t mask;
	struct pp_lines lines;
	_Atomic uint32_t *blocks;
	uint32_t *counts;
	uint32_t *chunks;
	struct pp_shape shape;
	struct pp_table *older;
};

/**
 * struct pp_index_use - use of the newest table, for writers
 * @keys: number of keys in the buckets
 * @blocks_used: number of words of the table's @blocks that have a tag
 * @blocks: number of words of the table's @blocks whose block has entries
 * @lines: use of the lines
 * @in_buckets: number of entries of each class in the buckets
 */
struct pp_index_use {
	uint64_t keys;
	uint64_t blocks_used;
	uint64_t blocks;
	struct pp_lines_use lines;
	uint32_t in_buckets[PP_CLASS_MAX + 1];
};

/**
 * struct pp_index
 * @table: the newest generation
 * @classes: a bit for each class with entries in the buckets
 * @only: the class with entries in the buckets if there is exactly one; else 0
 * @use: this field and the following ones are for writers
 * @entries: number of entries
 * @since: number of insertions since the length of the lines' blocks was last examined (shape_lines())
 * @main: the class of more than half of the entries, or 0
 * @count: number of entries of each class
 */
struct pp_index {
	_Atomic(struct pp_table *) table;
	_Atomic uint64_t classes;
	_Atomic uint32_t only;
	struct pp_index_use use;
	uint32_t entries;
	uint32_t since;
	uint32_t main;
	uint32_t count[PP_CLASS_MAX + 1];
};

/** struct pp_key - @bytes: the key's hash byte, eight times; @unit: which 256th of the granule */
struct pp_key {
	uint64_t bucket;
	uint64_t bytes;
	uint8_t unit;
};

/* ---- words ------------------------------------------------------------------------ */

#define PP_EACH_BYTE 0x0101010101010101ull

static inline uint64_t pp_hash(uint64_t number, unsigned int k)
{
	return (number ^ (uint64_t)k << 57) * PP_HASH_FACTOR;
}

static inline unsigned int pp_class_of(uint64_t length)
{
	unsigned int k = length > 1 ? 64 - __builtin_clzll(length - 1) : 0;

	if (k < PP_CLASS_MIN)
		return PP_CLASS_MIN;
	return k < PP_CLASS_MAX ? k : PP_CLASS_MAX;
}

static inline struct pp_key pp_key_of(const struct pp_table *t, uint64_t addr, unsigned int k)
{
	uint64_t h = pp_hash(addr >> k, k);

	return (struct pp_key){
		.bucket = h >> t->shift,
		/* the bits below the bucket's, because they differ between adjacent granules */
		.bytes = ((h >> (t->shift - 8) & 0xff) | 1) * PP_EACH_BYTE,
		.unit = addr >> (k - 8),
	};
}

/* A slot. Bits 0 to 7: last 256th minus first 256th; bits 8 to 15: the first 256th; above: index of the entry */
static inline uint64_t pp_slot_of(uint32_t entry, uint8_t first, uint8_t last)
{
	return (uint64_t)entry << 16 | (uint64_t)first << 8 | (last - first);
}

/* Index of the slot's entry; PP_NO_ENTRY if the slot has just been emptied */
static inline uint32_t pp_slot_entry(uint64_t slot)
{
	return slot >> 16;
}

static inline bool pp_slot_matches(uint64_t slot, const struct pp_key *key)
{
	return (uint8_t)(key->unit - (slot >> 8)) <= (uint8_t)slot;
}

/*
 * Returns a word with the highest bit set in each byte where @bytes has the hash byte
 * of @key. Rarely the next higher byte has its bit set, too. The bit of the highest
 * byte, which is a count, is never set.
 */
static inline uint64_t pp_bytes_match(uint64_t bytes, const struct pp_key *key)
{
	uint64_t differ = bytes ^ key->bytes;

	return (differ - PP_EACH_BYTE) & ~differ & PP_EACH_BYTE << 7 & ~0ull >> 8;
}

static inline uint64_t pp_slot_load(const struct pp_bucket *b, uint64_t match)
{
	return atomic_load_explicit(&b->slots[__builtin_ctzll(match) / 8], memory_order_relaxed);
}

static inline bool pp_bytes_passed(uint64_t bytes)
{
	return bytes >> 56;
}

static inline const struct pp_bucket *pp_bucket_at(const struct pp_table *t, uint64_t n)
{
	return &t->buckets[n & t->mask];
}

/* Classes of entries in the block of 1 GiB that contains @addr; may contain classes with no entry there */
uint64_t pp_block_classes(const struct pp_table *t, uint64_t addr);

/* As pp_block_classes() for a part of a block, without PP_LARGE_CLASSES. 0: no entry is there. @chunks: of the block */
uint64_t pp_block_part(const struct pp_table *t, uint64_t start, uint64_t last, uint32_t *chunks);

static inline uint64_t pp_classes_at(struct pp_index *x, const struct pp_table *t, uint64_t addr)
{
	uint64_t classes = atomic_load_explicit(&x->classes, memory_order_acquire);

	uint64_t but_one = classes & (classes - 1);

	if (!(but_one & (but_one - 1)))	/* at most two classes */
		return classes;
	return classes & pp_block_classes(t, addr);
}

/* ---- changes: one thread at a time ------------------------------------------------- */

int pp_index_init(struct pp_index *x);	/* 0 or -ENOMEM */
void pp_index_end(struct pp_index *x);

/*
 * Insert an entry by its range, which must not change before pp_index_remove().
 * All entries of @pool in the index may move to another table. 0 or -ENOMEM.
 * Until the insertion is done, pp_entry_is_indexed() must be false for the entry: a new
 * table takes in all indexed entries, and would hold the new entry twice.
 */
int pp_index_insert(struct pp_index *x, const struct pp_pool *pool, struct pp_entry *e);
void pp_index_remove(struct pp_index *x, const struct pp_pool *pool, struct pp_entry *e);

#endif

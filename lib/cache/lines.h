/* SPDX-License-Identifier: MIT */
/*
 * Entries of a block of address space, in one cache line.
 *
 * A line has up to seven of the entries that overlap its block. So a look-up finds these
 * entries whatever their lengths are, usually by one access to memory. An entry is in the lines of
 * all blocks that it overlaps. If one of these lines has no place, the entry is in none of
 * them, but in the buckets (index.h).
 *
 * All blocks of a table have one length, and 2^15 units. A line has the first and the last
 * unit of each of its entries in the block. A word has the units of four entries, so that a
 * few operations compare all entries. An entry may cover a part of a unit only, so a reader
 * also compares the entry's own range.
 *
 * The lines are a hash table without deletion. A line without entries is *vacant*: it keeps
 * its tag until another block takes the line. A line without a tag is *unused*, and ends a
 * search. No line becomes unused again.
 *
 * One thread at a time changes lines; readers need no lock. A writer stores the index
 * of an entry, then its first unit, then its last unit, and clears in the opposite order.
 * A reader loads the last units, then the first units, then the index. So a reader finds
 * each entry that is present during its whole look-up. If the slot changes meanwhile, the
 * loaded index is 0 or the index of an entry that is or was in the slot.
 */
#ifndef PP_LINES_H
#define PP_LINES_H

#include "entry.h"

enum {
	PP_LINE_SLOTS = 7,
	PP_UNITS_SHIFT = 15,	/* units of a block */
};

#define PP_UNITS_MASK 0x7fffull
#define PP_HASH_FACTOR 0x9e3779b97f4a7c15ull	/* 2^64 divided by the golden ratio */

/* The highest bit of each unit of a word; the same of the second word, in which three units belong to slots */
#define PP_UNIT_TOPS 0x8000800080008000ull
#define PP_UNIT_TOPS_2 (PP_UNIT_TOPS >> 16)

/**
 * struct pp_line - entries of a block. Unit n / 2 of word n % 2 belongs to slot n
 * @tag: of the block; 0: unused. Two blocks of the same tag may share a line
 * @entries: index of each slot's entry, 0: empty
 * @last: last units, each with the highest bit set
 * @first: first units. In an empty slot @first is above @last
 */
struct pp_line {
	_Atomic uint32_t tag;
	_Atomic uint32_t entries[PP_LINE_SLOTS];
	_Atomic uint64_t last[2];
	_Atomic uint64_t first[2];
};

_Static_assert(sizeof(struct pp_line) == 64, "a line is one cache line");

/** struct pp_lines - hash table of 2^(64 - @tag_shift) = @mask + 1 lines; @shift: a unit has 2^@shift bytes */
struct pp_lines {
	struct pp_line *at;
	unsigned int tag_shift;
	unsigned int shift;
	uint64_t mask;
};

/** struct pp_lines_use - for writers. @used: number of lines with a tag; @entries: number of entries in the lines */
struct pp_lines_use {
	uint64_t used;
	uint64_t entries;
};

/* Number of the unit that contains @addr. The functions below take this number. */
static inline uint64_t pp_unit_of(const struct pp_lines *lines, uint64_t addr)
{
	return addr >> lines->shift;
}

static inline uint32_t pp_line_tag(uint64_t unit)
{
	return (uint32_t)(unit >> PP_UNITS_SHIFT) | 1u << 31;
}

static inline uint32_t pp_line_tag_load(const struct pp_line *l)
{
	return atomic_load_explicit((_Atomic uint32_t *)&l->tag, memory_order_acquire);
}

/*
 * Where the search for a block's line begins. The lines of adjacent blocks must not be neighbours: the lines of a pool
 * would be one long run, and a look-up in another pool could search through all of it. Blocks with the same tag begin at
 * the same line: otherwise a line that one of them takes later could hide the line that has the other's entries.
 */
static inline uint64_t pp_line_place(const struct pp_lines *lines, uint64_t unit)
{
	return pp_line_tag(unit) * PP_HASH_FACTOR >> lines->tag_shift;
}

static inline uint64_t pp_line_last(const struct pp_line *l, unsigned int word)
{
	return atomic_load_explicit((_Atomic uint64_t *)&l->last[word], memory_order_acquire);
}

static inline uint64_t pp_line_first(const struct pp_line *l, unsigned int word)
{
	return atomic_load_explicit((_Atomic uint64_t *)&l->first[word], memory_order_relaxed);
}

/*
 * Returns a word with bit 8n set for each slot n that has a unit from @first to @last. Both are in the line's block. If the
 * range is the whole block, empty slots match, too. A walk skips them, because PP_NO_ENTRY overlaps no range.
 */
static inline uint64_t pp_line_overlap(const struct pp_line *l, uint64_t first, uint64_t last)
{
	uint64_t firsts = (first & PP_UNITS_MASK) * 0x0001000100010001ull;
	uint64_t lasts = (last & PP_UNITS_MASK) * 0x0001000100010001ull;
	uint64_t one = pp_line_last(l, 0) - firsts, two = pp_line_last(l, 1) - firsts;

	one &= (lasts | PP_UNIT_TOPS) - pp_line_first(l, 0);
	two &= (lasts | PP_UNIT_TOPS) - pp_line_first(l, 1);
	return (one & PP_UNIT_TOPS) >> 15 | (two & PP_UNIT_TOPS_2) >> 7;
}

/* As pp_line_overlap(), for one unit */
static inline uint64_t pp_line_match(const struct pp_line *l, uint64_t unit)
{
	return pp_line_overlap(l, unit, unit);
}

/* @match: from pp_line_match(). Index of the entry of its first slot; PP_NO_ENTRY if the slot has just been emptied */
static inline uint32_t pp_line_entry(const struct pp_line *l, uint64_t match)
{
	return atomic_load_explicit((_Atomic uint32_t *)&l->entries[__builtin_ctzll(match) / 8], memory_order_relaxed);
}

/* Index of a slot's entry, or PP_NO_ENTRY; under the cache's lock */
static inline uint32_t pp_line_slot(const struct pp_line *l, unsigned int slot)
{
	return atomic_load_explicit((_Atomic uint32_t *)&l->entries[slot], memory_order_relaxed);
}

/* The line of the unit's block, or the unused line that ends the search */
static inline const struct pp_line *pp_line_of(const struct pp_lines *lines, uint64_t unit)
{
	uint64_t at = pp_line_place(lines, unit);
	uint32_t tag = pp_line_tag(unit), found;

	while ((found = pp_line_tag_load(&lines->at[at])) && found != tag)
		at = (at + 1) & lines->mask;
	return &lines->at[at];
}

/* ---- changes: one thread at a time ------------------------------------------------- */

/* Are about three quarters of the lines used? Then a block gets no unused line, but may get a vacant line. */
bool pp_lines_are_full(const struct pp_lines *lines, const struct pp_lines_use *use);

/* Returns false, and adds nothing, if there is no place. */
bool pp_lines_add(const struct pp_lines *lines, struct pp_lines_use *use, const struct pp_range *range, uint32_t index);

/* Returns false if the entry is not in the lines. */
bool pp_lines_remove(const struct pp_lines *lines, struct pp_lines_use *use, const struct pp_range *range,
		     uint32_t index);

#endif

// SPDX-License-Identifier: MIT
#include "lines.h"

enum { NO_SLOT = PP_LINE_SLOTS };

#define NONE_FIRST (~PP_UNIT_TOPS)	/* in an empty slot, with NONE_LAST: units 0x7fff to 0 match no unit */
#define NONE_LAST PP_UNIT_TOPS

static uint64_t load(const _Atomic uint64_t *word)
{
	return atomic_load_explicit((_Atomic uint64_t *)word, memory_order_relaxed);
}

static void store(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
}

static void entry_set(struct pp_line *l, unsigned int slot, uint32_t index)
{
	atomic_store_explicit(&l->entries[slot], index, memory_order_relaxed);
}

static void unit_set(_Atomic uint64_t words[2], unsigned int slot, uint64_t unit)
{
	unsigned int shift = slot / 2 * 16;

	store(&words[slot % 2], (load(&words[slot % 2]) & ~(0xffffull << shift)) | unit << shift);
}

/* The first slot with @index, or NO_SLOT */
static unsigned int slot_with(const struct pp_line *l, uint32_t index)
{
	unsigned int slot;

	for (slot = 0; slot < NO_SLOT && pp_line_slot(l, slot) != index; slot++)
		;
	return slot;
}

static bool is_vacant(const struct pp_line *l)
{
	return load(&l->first[0]) == NONE_FIRST && load(&l->first[1]) == NONE_FIRST &&
	       load(&l->last[0]) == NONE_LAST && load(&l->last[1]) == NONE_LAST;
}

bool pp_lines_are_full(const struct pp_lines *lines, const struct pp_lines_use *use)
{
	return (use->used + 2) * 4 > 3 * (lines->mask + 1);
}

static void claim(struct pp_line *l, uint32_t tag)
{
	store(&l->first[0], NONE_FIRST);
	store(&l->first[1], NONE_FIRST);
	store(&l->last[0], NONE_LAST);
	store(&l->last[1], NONE_LAST);
	atomic_store_explicit(&l->tag, tag, memory_order_release);
}

/* The line of a block. A block without a line gets the first vacant line of its search, or the unused line. NULL: neither */
static struct pp_line *line_for(const struct pp_lines *lines, struct pp_lines_use *use, uint64_t unit)
{
	uint64_t at = pp_line_place(lines, unit);
	uint32_t tag = pp_line_tag(unit), found;
	struct pp_line *vacant = NULL, *l;

	for (; l = &lines->at[at], (found = pp_line_tag_load(l)); at = (at + 1) & lines->mask) {
		if (found == tag)
			return l;
		if (!vacant && is_vacant(l))
			vacant = l;
	}
	if (!vacant && pp_lines_are_full(lines, use))
		return NULL;
	if (!vacant) {
		use->used++;
		vacant = l;
	}
	claim(vacant, tag);
	return vacant;
}

/* @first, @last: units of the entry in the line's block */
static void put(struct pp_line *l, unsigned int slot, uint64_t first, uint64_t last, uint32_t index)
{
	entry_set(l, slot, index);
	unit_set(l->first, slot, first & PP_UNITS_MASK);
	unit_set(l->last, slot, (last & PP_UNITS_MASK) | 0x8000);
}

static void clear(struct pp_line *l, unsigned int slot)
{
	unit_set(l->last, slot, NONE_LAST & 0xffff);
	unit_set(l->first, slot, NONE_FIRST & 0xffff);
	entry_set(l, slot, PP_NO_ENTRY);
}

static bool add_in_block(const struct pp_lines *lines, struct pp_lines_use *use, uint64_t first, uint64_t last,
			 uint32_t index)
{
	struct pp_line *l = line_for(lines, use, first);
	unsigned int slot = l ? slot_with(l, PP_NO_ENTRY) : NO_SLOT;

	if (slot == NO_SLOT)
		return false;
	put(l, slot, first, last, index);
	return true;
}

static bool remove_in_block(const struct pp_lines *lines, uint64_t unit, uint32_t index)
{
	struct pp_line *l = (struct pp_line *)pp_line_of(lines, unit);
	unsigned int slot = pp_line_tag_load(l) ? slot_with(l, index) : NO_SLOT;

	if (slot == NO_SLOT)
		return false;
	clear(l, slot);
	return true;
}

/* The first unit of the next block */
static uint64_t next_block(uint64_t unit)
{
	return (unit | PP_UNITS_MASK) + 1;
}

static void remove_before(const struct pp_lines *lines, uint64_t unit, uint64_t end, uint32_t index)
{
	for (; unit < end; unit = next_block(unit))
		remove_in_block(lines, unit, index);
}

/* Puts the entry into a block's line before the next block gets a line. Otherwise both could get one vacant line. */
bool pp_lines_add(const struct pp_lines *lines, struct pp_lines_use *use, const struct pp_range *range, uint32_t index)
{
	uint64_t start = pp_unit_of(lines, range->start), end = pp_unit_of(lines, range->end - 1), at;

	for (at = start; at <= end; at = next_block(at)) {
		uint64_t last = next_block(at) - 1;

		if (!add_in_block(lines, use, at, last < end ? last : end, index)) {
			remove_before(lines, start, at, index);
			return false;
		}
	}
	use->entries++;
	return true;
}

bool pp_lines_remove(const struct pp_lines *lines, struct pp_lines_use *use, const struct pp_range *range,
		     uint32_t index)
{
	uint64_t start = pp_unit_of(lines, range->start), end = pp_unit_of(lines, range->end - 1);

	if (!remove_in_block(lines, start, index))
		return false;
	remove_before(lines, next_block(start), end + 1, index);
	use->entries--;
	return true;
}

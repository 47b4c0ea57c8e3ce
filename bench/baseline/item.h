/* SPDX-License-Identifier: MIT */
/* What each baseline keeps of a range besides its place: as little as the operation needs. */
#ifndef ITEM_H
#define ITEM_H

#include "contender.h"

struct item {
	uint64_t start;
	uint64_t end;
	const uint32_t *word;
	uint32_t value;
	uint32_t users;
};

static inline bool item_covers(const struct item *i, uint64_t addr)
{
	return i->start <= addr && addr + ASKED <= i->end;
}

static inline bool item_valid(const struct item *i)
{
	return __atomic_load_n(i->word, __ATOMIC_ACQUIRE) == i->value;
}

/* The time in which a user would use it: the reference must be there in memory, and be taken back. */
static inline void item_used(void)
{
	__asm__ volatile("" ::: "memory");
}

#endif

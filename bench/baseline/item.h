/* SPDX-License-Identifier: MIT */
/* Data of a range in the baselines; only the fields that the operation needs */
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

/* The use of a range. The compiler must take the reference before this line, and drop it after this line. */
static inline void item_used(void)
{
	__asm__ volatile("" ::: "memory");
}

#endif

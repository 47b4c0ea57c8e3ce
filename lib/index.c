// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "index.h"

/* Position of the first range that ends after @addr. */
static size_t position(const struct pp_index *x, uint64_t addr)
{
	size_t low = 0, high = x->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (x->at[mid]->end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct pp_range *overlapping(const struct pp_index *x, size_t i,
				    const struct pp_range *want)
{
	if (i < x->count && pp_range_overlaps(x->at[i], want))
		return x->at[i];
	return NULL;
}

struct pp_range *pp_index_first(const struct pp_index *x,
				const struct pp_range *want)
{
	return overlapping(x, position(x, want->start), want);
}

struct pp_range *pp_index_next(const struct pp_index *x,
			       const struct pp_range *item,
			       const struct pp_range *want)
{
	return overlapping(x, position(x, item->end), want);
}

static int make_room(struct pp_index *x)
{
	size_t room = x->room ? 2 * x->room : 16;
	struct pp_range **at;

	if (x->count < x->room)
		return 0;
	at = realloc(x->at, room * sizeof(struct pp_range *));
	if (!at)
		return -ENOMEM;
	x->at = at;
	x->room = room;
	return 0;
}

int pp_index_insert(struct pp_index *x, struct pp_range *item)
{
	size_t i = position(x, item->start);
	int ret = make_room(x);

	if (ret)
		return ret;
	memmove(x->at + i + 1, x->at + i, (x->count - i) * sizeof(*x->at));
	x->at[i] = item;
	x->count++;
	return 0;
}

void pp_index_remove(struct pp_index *x, struct pp_range *item)
{
	size_t i = position(x, item->start);

	x->count--;
	memmove(x->at + i, x->at + i + 1, (x->count - i) * sizeof(*x->at));
}

void pp_index_free(struct pp_index *x)
{
	free(x->at);
}

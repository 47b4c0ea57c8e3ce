// SPDX-License-Identifier: GPL-2.0
/*
 * A cookie has 32 bits of turn, 4 bits of table and 28 bits of index. The turn is the
 * number of times that the table entry was freed before. An entry is not taken again after its
 * last turn. A pin uses the table of its processor, so that pins on several processors do
 * not contend for a lock.
 */
#include <linux/errno.h>
#include <linux/smp.h>
#include "cookie.h"
#include "region.h"
#include "table.h"

enum {
	SHARDS = 16,
	INDEX_BITS = 28,
	PLACE_BITS = 32,
};

static struct pp_table shards[SHARDS];

static u32 shard_of(u32 place)
{
	return place >> INDEX_BITS;
}

static u32 index_of(u32 place)
{
	return place & (BIT(INDEX_BITS) - 1);
}

int pp_cookie_insert(struct peerpin_region *r)
{
	u32 shard = raw_smp_processor_id() % SHARDS;
	u32 index, turn;

	if (pp_table_take(&shards[shard], r, &index, &turn))
		return -ENOMEM;
	r->cookie = (unsigned long)turn << PLACE_BITS |
		    shard << INDEX_BITS | index;
	return 0;
}

void pp_cookie_erase(struct peerpin_region *r)
{
	struct pp_table *t = &shards[shard_of(r->cookie)];
	u32 index = index_of(r->cookie);

	if (r->cookie >> PLACE_BITS != U32_MAX)
		pp_table_give(t, index);
	else
		pp_table_take_out(t, index);
}

struct peerpin_region *pp_cookie_find(unsigned long cookie)
{
	u32 turn = cookie >> PLACE_BITS;

	return pp_table_find(&shards[shard_of(cookie)], index_of(cookie),
			     &turn);
}

struct peerpin_region *pp_cookie_next(u64 *place)
{
	struct peerpin_region *r;
	u32 shard, index;

	for (shard = *place >> INDEX_BITS; shard < SHARDS; shard++) {
		index = index_of(*place);
		r = pp_table_next(&shards[shard], &index);
		*place = ((u64)shard << INDEX_BITS | index) + 1;
		if (r)
			return r;
		*place = (u64)(shard + 1) << INDEX_BITS;
	}
	return NULL;
}

void pp_cookie_init(void)
{
	unsigned int i;

	for (i = 0; i < SHARDS; i++)
		pp_table_init(&shards[i], PP_TABLE_MAX, GFP_KERNEL);
}

void pp_cookie_exit(void)
{
	unsigned int i;

	for (i = 0; i < SHARDS; i++)
		pp_table_destroy(&shards[i]);
}

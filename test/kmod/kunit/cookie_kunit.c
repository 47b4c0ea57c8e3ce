// SPDX-License-Identifier: GPL-2.0
#include <linux/preempt.h>
#include "../../../kmod/core/region/cookie.c"
#include "suites.h"

enum {
	WALKED = 1000,
	EACH = 3,	/* regions in each shard */
};

static int cookie_init(struct kunit *test)
{
	memset(shards, 0, sizeof(shards));
	pp_cookie_init();
	return regions_init(test);
}

static void cookie_exit(struct kunit *test)
{
	pp_cookie_exit();
	regions_exit(test);
}

/* As pp_cookie_insert() on a processor that uses @shard */
static void insert_into(struct kunit *test, u32 shard, struct peerpin_region *r)
{
	u32 index = 0, turn = 0;

	KUNIT_EXPECT_EQ(test, pp_table_take(&shards[shard], r, &index, &turn), 0);
	r->cookie = (u64)turn << PLACE_BITS | shard << INDEX_BITS | index;
}

static void a_stale_cookie_finds_nothing(struct kunit *test)
{
	struct peerpin_region *r = &regions[0], *next = &regions[1];
	unsigned long old;

	migrate_disable();	/* all cookies are of one shard */
	KUNIT_EXPECT_EQ(test, pp_cookie_insert(r), 0);
	KUNIT_EXPECT_PTR_EQ(test, pp_cookie_find(r->cookie), r);
	KUNIT_EXPECT_EQ(test, region_refs(0), 2u);
	old = r->cookie;
	pp_cookie_erase(r);
	KUNIT_EXPECT_NULL(test, pp_cookie_find(old));
	KUNIT_EXPECT_EQ(test, pp_cookie_insert(next), 0);
	migrate_enable();
	KUNIT_EXPECT_EQ(test, (u32)next->cookie, (u32)old);
	KUNIT_EXPECT_NE(test, next->cookie, old);
	KUNIT_EXPECT_NULL(test, pp_cookie_find(old));
	KUNIT_EXPECT_EQ(test, region_refs(1), 1u);
}

/* Every cookie that differs in one bit names another shard, index or turn. */
static void a_foreign_cookie_finds_nothing(struct kunit *test)
{
	struct peerpin_region *r = &regions[0];
	unsigned int bit;

	KUNIT_EXPECT_EQ(test, pp_cookie_insert(r), 0);
	for (bit = 0; bit < BITS_PER_LONG; bit++)
		KUNIT_EXPECT_PTR_EQ_MSG(test, pp_cookie_find(r->cookie ^ BIT(bit)), (struct peerpin_region *)NULL, "bit %u", bit);
	KUNIT_EXPECT_NULL(test, pp_cookie_find(~0ul));
	KUNIT_EXPECT_NULL(test, pp_cookie_find(r->cookie + 1));
	KUNIT_EXPECT_PTR_EQ(test, pp_cookie_find(r->cookie), r);
	KUNIT_EXPECT_EQ(test, region_refs(0), 2u);
}

static void every_index_fits_into_a_cookie(struct kunit *test)
{
	u32 place = (SHARDS - 1) << INDEX_BITS | (PP_TABLE_MAX - 1);

	KUNIT_EXPECT_TRUE(test, PP_TABLE_MAX <= BIT(INDEX_BITS));
	KUNIT_EXPECT_EQ(test, (u64)SHARDS << INDEX_BITS, 1ull << PLACE_BITS);
	KUNIT_EXPECT_EQ(test, shard_of(place), (u32)SHARDS - 1);
	KUNIT_EXPECT_EQ(test, index_of(place), (u32)PP_TABLE_MAX - 1);
	KUNIT_EXPECT_EQ(test, shard_of(0x12345678u), 1u);
	KUNIT_EXPECT_EQ(test, index_of(0x12345678u), 0x2345678u);
}

/* An entry serves its last turn, and is not taken again afterwards. */
static void no_cookie_is_used_twice(struct kunit *test)
{
	struct peerpin_region *r = &regions[0], *next = &regions[1];
	unsigned long first, last;

	migrate_disable();
	KUNIT_EXPECT_EQ(test, pp_cookie_insert(r), 0);
	first = r->cookie;
	pp_cookie_erase(r);
	table_set_turn(&shards[shard_of(first)], index_of(first), U32_MAX);
	KUNIT_EXPECT_EQ(test, pp_cookie_insert(r), 0);
	last = r->cookie;
	KUNIT_EXPECT_EQ(test, (u32)last, (u32)first);
	KUNIT_EXPECT_EQ(test, last >> PLACE_BITS, (unsigned long)U32_MAX);
	KUNIT_EXPECT_PTR_EQ(test, pp_cookie_find(last), r);
	KUNIT_EXPECT_NULL(test, pp_cookie_find(first));
	pp_cookie_erase(r);
	KUNIT_EXPECT_NULL(test, pp_cookie_find(last));
	KUNIT_EXPECT_EQ(test, pp_cookie_insert(next), 0);
	migrate_enable();
	KUNIT_EXPECT_NE(test, (u32)next->cookie, (u32)last);
	KUNIT_EXPECT_NULL(test, pp_cookie_find(first));
	KUNIT_EXPECT_NULL(test, pp_cookie_find(last));
	KUNIT_EXPECT_PTR_EQ(test, pp_cookie_find(next->cookie), next);
}

/* ---- the walk ------------------------------------------------------------------------- */

static void a_walk_sees_each_region_once(struct kunit *test)
{
	struct peerpin_region *r;
	unsigned int i, count = 0;
	u64 place = 0;

	for (i = 0; i < WALKED; i++)
		KUNIT_EXPECT_EQ(test, pp_cookie_insert(&regions[i]), 0);
	for (i = 0; i < WALKED; i += 3)
		pp_cookie_erase(&regions[i]);
	while (count < WALKED && (r = pp_cookie_next(&place)))
		count++;
	KUNIT_EXPECT_EQ(test, count, (unsigned int)(WALKED - DIV_ROUND_UP(WALKED, 3)));
	for (i = 0; i < WALKED; i++)
		KUNIT_EXPECT_EQ_MSG(test, region_refs(i), i % 3 ? 2u : 1u, "region %u", i);
	KUNIT_EXPECT_NULL(test, pp_cookie_next(&place));
}

/* From the last region of a shard to the first of the next; the place after the last shard does not fit into 32 bits. */
static void a_walk_crosses_all_shards(struct kunit *test)
{
	struct peerpin_region *r;
	unsigned int i = 0;
	u64 place = 0;
	u32 shard;

	for (shard = 0; shard < SHARDS; shard++)
		for (i = 0; i < EACH; i++)
			insert_into(test, shard, &regions[shard * EACH + i]);
	for (i = 0; i < SHARDS * EACH; i++) {
		r = pp_cookie_next(&place);
		KUNIT_EXPECT_PTR_EQ_MSG(test, r, &regions[i], "region %u", i);
		KUNIT_EXPECT_PTR_EQ_MSG(test, pp_cookie_find(regions[i].cookie), &regions[i], "region %u", i);
	}
	KUNIT_EXPECT_NULL(test, pp_cookie_next(&place));
	KUNIT_EXPECT_NULL(test, pp_cookie_next(&place));
	KUNIT_EXPECT_EQ(test, place, 1ull << PLACE_BITS);
}

static struct kunit_case cookie_cases[] = {
	KUNIT_CASE(a_stale_cookie_finds_nothing),
	KUNIT_CASE(a_foreign_cookie_finds_nothing),
	KUNIT_CASE(every_index_fits_into_a_cookie),
	KUNIT_CASE(no_cookie_is_used_twice),
	KUNIT_CASE(a_walk_sees_each_region_once),
	KUNIT_CASE(a_walk_crosses_all_shards),
	{}
};

struct kunit_suite cookie_suite = {
	.name = "peerpin_cookie",
	.init = cookie_init,
	.exit = cookie_exit,
	.test_cases = cookie_cases,
};

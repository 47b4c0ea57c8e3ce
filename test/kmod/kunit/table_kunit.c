// SPDX-License-Identifier: GPL-2.0
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/random.h>
#include "../../../kmod/core/region/table.c"
#include "suites.h"

enum {
	LIMIT = 300,		/* an index in the second chunk */
	THREADS = 4,
	THREAD_ROUNDS = 20000,
	THREAD_ENTRIES = 64,
};

static struct pp_table table;

static int table_init(struct kunit *test)
{
	table = (struct pp_table){};
	pp_table_init(&table, LIMIT, GFP_KERNEL);
	return regions_init(test);
}

static void table_exit(struct kunit *test)
{
	pp_table_destroy(&table);
	regions_exit(test);
}

void table_set_turn(struct pp_table *t, u32 index, u32 turn)
{
	table_entry(t, index)->turn = turn;
}

/* ---- one thread --------------------------------------------------------------------- */

static void expect_take(struct kunit *test, unsigned int region, u32 expected, u32 expected_turn)
{
	u32 index = ~0, turn = ~0;

	KUNIT_EXPECT_EQ(test, pp_table_take(&table, &regions[region], &index, &turn), 0);
	KUNIT_EXPECT_EQ(test, index, expected);
	KUNIT_EXPECT_EQ(test, turn, expected_turn);
}

static void the_entry_freed_last_is_taken_first(struct kunit *test)
{
	expect_take(test, 0, 0, 0);
	expect_take(test, 1, 1, 0);
	pp_table_give(&table, 0);
	pp_table_give(&table, 1);
	expect_take(test, 1, 1, 1);
	expect_take(test, 0, 0, 1);
	expect_take(test, 2, 2, 0);
}

static void a_full_table_is_enospc(struct kunit *test)
{
	u32 i, index = 0;

	for (i = 0; i < LIMIT; i++)
		expect_take(test, i, i, 0);
	KUNIT_EXPECT_EQ(test, pp_table_take(&table, &regions[0], &index, NULL), -ENOSPC);
	pp_table_give(&table, 17);
	expect_take(test, 0, 17, 1);
	KUNIT_EXPECT_EQ(test, pp_table_take(&table, &regions[0], &index, NULL), -ENOSPC);
}

static void entries_of_chunks_do_not_overlap(struct kunit *test)
{
	u32 i;

	table.limit = PP_TABLE_MAX;
	for (i = 0; i < REGIONS; i++)
		expect_take(test, i, i, 0);
	for (i = 0; i < REGIONS; i++) {
		KUNIT_EXPECT_PTR_EQ_MSG(test, pp_table_find(&table, i, NULL), &regions[i], "entry %u", i);
		KUNIT_EXPECT_EQ_MSG(test, region_refs(i), 2u, "entry %u", i);
	}
	KUNIT_EXPECT_NULL(test, pp_table_find(&table, REGIONS, NULL));
	KUNIT_EXPECT_NULL(test, pp_table_find(&table, U32_MAX, NULL));
	KUNIT_EXPECT_NULL(test, pp_table_glance(&table, REGIONS));
	KUNIT_EXPECT_NULL(test, pp_table_glance(&table, U32_MAX));
}

/* The first and the last index of each chunk belong to it. */
static void each_index_has_a_chunk(struct kunit *test)
{
	unsigned int chunk;

	for (chunk = 0; chunk < PP_TABLE_CHUNKS; chunk++) {
		u32 first = table_chunk_start(chunk);

		KUNIT_EXPECT_EQ(test, table_chunk(first), chunk);
		KUNIT_EXPECT_EQ(test, table_chunk(first + (PP_TABLE_FIRST << chunk) - 1), chunk);
	}
	KUNIT_EXPECT_EQ(test, table_chunk(PP_TABLE_MAX - 1), (unsigned int)PP_TABLE_CHUNKS - 1);
}

static void an_object_is_taken_out_once(struct kunit *test)
{
	u32 index = 0, turn = 0;

	KUNIT_EXPECT_EQ(test, pp_table_take(&table, NULL, &index, &turn), 0);
	KUNIT_EXPECT_NULL(test, pp_table_find(&table, index, NULL));
	KUNIT_EXPECT_NULL(test, pp_table_glance(&table, index));
	pp_table_put(&table, index, &regions[3]);
	KUNIT_EXPECT_PTR_EQ(test, pp_table_find(&table, index, &turn), &regions[3]);
	KUNIT_EXPECT_PTR_EQ(test, pp_table_glance(&table, index), &regions[3]);
	KUNIT_EXPECT_EQ(test, region_refs(3), 3u);
	KUNIT_EXPECT_PTR_EQ(test, pp_table_take_out(&table, index), (void *)&regions[3]);
	KUNIT_EXPECT_NULL(test, pp_table_take_out(&table, index));
	KUNIT_EXPECT_NULL(test, pp_table_find(&table, index, &turn));
	KUNIT_EXPECT_NULL(test, pp_table_glance(&table, index));
	KUNIT_EXPECT_NULL(test, pp_table_take_out(&table, index + 1));
	KUNIT_EXPECT_EQ(test, region_refs(3), 3u);
	expect_take(test, 4, index + 1, 0);	/* the entry is still taken */
}

static void a_turn_finds_only_its_object(struct kunit *test)
{
	u32 first = 0, second = 1, third = 2;

	expect_take(test, 0, 0, first);
	KUNIT_EXPECT_PTR_EQ(test, pp_table_find(&table, 0, &first), &regions[0]);
	pp_table_give(&table, 0);
	KUNIT_EXPECT_NULL(test, pp_table_find(&table, 0, &first));
	KUNIT_EXPECT_NULL(test, pp_table_find(&table, 0, &second));
	expect_take(test, 1, 0, second);
	KUNIT_EXPECT_NULL(test, pp_table_find(&table, 0, &first));
	KUNIT_EXPECT_NULL(test, pp_table_find(&table, 0, &third));
	KUNIT_EXPECT_EQ(test, region_refs(1), 1u);
	KUNIT_EXPECT_PTR_EQ(test, pp_table_find(&table, 0, &second), &regions[1]);
}

static void a_released_region_is_not_glanced_at(struct kunit *test)
{
	expect_take(test, 0, 0, 0);
	refcount_set(&regions[0].ref.few, 0);
	KUNIT_EXPECT_FALSE(test, pp_region_tryget(&regions[0]));
	pp_table_give(&table, 0);
	KUNIT_EXPECT_NULL(test, pp_table_glance(&table, 0));
}

static void a_walk_skips_free_entries(struct kunit *test)
{
	u32 i, index = 0;

	for (i = 0; i < LIMIT; i++)
		expect_take(test, i, i, 0);
	for (i = 0; i < LIMIT; i++)
		if (i != 1 && i != PP_TABLE_FIRST && i != LIMIT - 1)
			pp_table_give(&table, i);
	KUNIT_EXPECT_PTR_EQ(test, pp_table_next(&table, &index), &regions[1]);
	KUNIT_EXPECT_EQ(test, index++, 1u);
	KUNIT_EXPECT_PTR_EQ(test, pp_table_next(&table, &index), &regions[PP_TABLE_FIRST]);
	KUNIT_EXPECT_EQ(test, index++, (u32)PP_TABLE_FIRST);
	KUNIT_EXPECT_PTR_EQ(test, pp_table_next(&table, &index), &regions[LIMIT - 1]);
	index++;
	KUNIT_EXPECT_NULL(test, pp_table_next(&table, &index));
	index = U32_MAX;
	KUNIT_EXPECT_NULL(test, pp_table_next(&table, &index));
}

/* ---- several threads ------------------------------------------------------------------ */

/* State of an entry. Only the thread that sets @owner may write @turns. */
static struct owned {
	atomic_t owner;
	u32 turns;
} owned[THREADS * THREAD_ENTRIES];

static struct worker {
	unsigned int id;
	u32 held[THREAD_ENTRIES];
	unsigned int count;
	const char *wrong;
} workers[THREADS];

static const char *worker_take(struct worker *w)
{
	struct owned *o;
	u32 index, turn;

	if (pp_table_take(&table, &regions[w->id], &index, &turn) || index >= ARRAY_SIZE(owned))
		return "no entry was taken, or its index is too high";
	o = &owned[index];
	if (atomic_cmpxchg(&o->owner, 0, w->id + 1))
		return "two threads took an entry";
	if (o->turns++ != turn)
		return "a turn was left out or came twice";
	w->held[w->count++] = index;
	return NULL;
}

static const char *worker_give(struct worker *w)
{
	u32 index = w->held[--w->count];

	if (pp_table_find(&table, index, NULL) != &regions[w->id])
		return "the entry has another object";
	if (atomic_cmpxchg(&owned[index].owner, w->id + 1, 0) != w->id + 1)
		return "two threads gave an entry";
	pp_table_give(&table, index);
	return NULL;
}

static int worker_run(void *data)
{
	struct worker *w = data;
	unsigned int i;

	for (i = 0; i < THREAD_ROUNDS && !w->wrong; i++) {
		bool take = !w->count || (w->count < THREAD_ENTRIES && get_random_u8() & 1);

		w->wrong = take ? worker_take(w) : worker_give(w);
		cond_resched();
	}
	while (!kthread_should_stop())
		usleep_range(1000, 2000);
	return 0;
}

static void threads_share_a_table(struct kunit *test)
{
	struct task_struct *tasks[THREADS];
	unsigned int i;

	memset(owned, 0, sizeof(owned));
	table.limit = PP_TABLE_MAX;
	for (i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .id = i };
		tasks[i] = kthread_run(worker_run, &workers[i], "table_kunit/%u", i);
	}
	for (i = 0; i < THREADS; i++)
		if (!IS_ERR(tasks[i]))
			kthread_stop(tasks[i]);
	for (i = 0; i < THREADS; i++) {
		KUNIT_EXPECT_FALSE(test, IS_ERR(tasks[i]));
		KUNIT_EXPECT_PTR_EQ_MSG(test, workers[i].wrong, (const char *)NULL, "thread %u: %s", i,
					workers[i].wrong);
	}
	KUNIT_EXPECT_FALSE(test, table.ever > THREADS * THREAD_ENTRIES);
}

static struct kunit_case table_cases[] = {
	KUNIT_CASE(the_entry_freed_last_is_taken_first),
	KUNIT_CASE(a_full_table_is_enospc),
	KUNIT_CASE(entries_of_chunks_do_not_overlap),
	KUNIT_CASE(each_index_has_a_chunk),
	KUNIT_CASE(an_object_is_taken_out_once),
	KUNIT_CASE(a_turn_finds_only_its_object),
	KUNIT_CASE(a_released_region_is_not_glanced_at),
	KUNIT_CASE(a_walk_skips_free_entries),
	KUNIT_CASE(threads_share_a_table),
	{}
};

struct kunit_suite table_suite = {
	.name = "peerpin_table",
	.init = table_init,
	.exit = table_exit,
	.test_cases = table_cases,
};

// SPDX-License-Identifier: GPL-2.0
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/sizes.h>
#include "../../../kmod/core/region/extents.c"
#include "suites.h"

#define FAR BIT_ULL(52)	/* physical addresses of the fake memory; no code of the core accesses them */

/**
 * struct memory - fake memory of a region: @count pieces of @piece bytes, with a gap of @gap bytes after each
 * @calls: number of calls of extents()
 * @at_call: action() runs in this call; 0: in none
 */
struct memory {
	u64 piece;
	u64 gap;
	u32 count;
	unsigned int calls;
	unsigned int at_call;
	void (*action)(struct kunit *test);
	struct kunit *test;
};

/* The case's region, and its memory. */
static struct peerpin_region *region;
static struct memory memory;

static u64 memory_phys(u64 offset)
{
	return FAR + offset / memory.piece * (memory.piece + memory.gap) + offset % memory.piece;
}

static void memory_extents(void *priv, struct pp_extents *x)
{
	u32 i;

	if (++memory.calls == memory.at_call)
		memory.action(memory.test);
	for (i = 0; i < memory.count; i++)
		pp_extents_add(x, memory_phys(i * memory.piece), memory.piece);
}

static const struct pp_provider memory_provider = { .name = "memory", .extents = memory_extents };
static const struct pp_provider mapping_provider = { .name = "mapping" };

static void begin(struct kunit *test, const struct pp_provider *provider, struct memory is)
{
	memory = is;
	memory.test = test;
	region = region_pinned(provider, memory.piece * memory.count);
	KUNIT_EXPECT_NOT_NULL(test, region);
}

static int extents_init(struct kunit *test)
{
	region = NULL;
	return 0;
}

/* As pp_region_clean() in the core */
static void extents_exit(struct kunit *test)
{
	if (!region)
		return;
	pp_region_end(region, PP_CLOSED);
	KUNIT_EXPECT_EQ(test, region->users, 0u);
	pp_extents_free(region);
	pp_region_put(region);
}

/* ---- pp_extents_add() --------------------------------------------------------------------- */

static void adjacent_memory_is_one_extent(struct kunit *test)
{
	struct pp_extent at[3] = {};
	struct pp_extents x = { .at = at, .room = 3 };

	pp_extents_add(&x, 0, SZ_4K);	/* not adjacent to the end of the empty list */
	KUNIT_EXPECT_EQ(test, x.count, 1u);
	pp_extents_add(&x, SZ_4K, SZ_4K);
	KUNIT_EXPECT_EQ(test, x.count, 1u);
	KUNIT_EXPECT_EQ(test, at[0].length, (u64)SZ_8K);
	pp_extents_add(&x, SZ_16K, SZ_4K);	/* a gap */
	KUNIT_EXPECT_EQ(test, x.count, 2u);
	pp_extents_add(&x, SZ_8K, SZ_8K);	/* adjacent, but in the wrong order */
	KUNIT_EXPECT_EQ(test, x.count, 3u);
	KUNIT_EXPECT_EQ(test, at[1].phys, (phys_addr_t)SZ_16K);
	KUNIT_EXPECT_EQ(test, at[1].length, (u64)SZ_4K);
	KUNIT_EXPECT_EQ(test, at[2].phys, (phys_addr_t)SZ_8K);
	KUNIT_EXPECT_EQ(test, x.bytes, (u64)SZ_16K + SZ_4K);
}

static void an_extent_exceeds_32_bits(struct kunit *test)
{
	struct pp_extent at = {};
	struct pp_extents x = { .at = &at, .room = 1 };
	unsigned int i;

	for (i = 0; i < 512; i++)
		pp_extents_add(&x, FAR + i * (u64)SZ_2G, SZ_2G);
	KUNIT_EXPECT_EQ(test, x.count, 1u);
	KUNIT_EXPECT_EQ(test, at.length, (u64)SZ_1T);
	KUNIT_EXPECT_EQ(test, x.bytes, (u64)SZ_1T);
	KUNIT_EXPECT_EQ(test, x.last, (phys_addr_t)(FAR + SZ_1T));
}

/* The caller's list has @room entries: what lies after them belongs to another object. */
static void no_extent_is_written_beyond_the_room(struct kunit *test)
{
	struct pp_extent at[3] = { [2] = { 1, 1 } };
	struct pp_extents x = { .at = at, .room = 2 };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		pp_extents_add(&x, i * (u64)SZ_1M, SZ_4K);
		pp_extents_add(&x, i * (u64)SZ_1M + SZ_4K, SZ_4K);
	}
	KUNIT_EXPECT_EQ(test, x.count, 4u);
	KUNIT_EXPECT_EQ(test, x.bytes, 4ull * SZ_8K);
	KUNIT_EXPECT_EQ(test, at[1].length, (u64)SZ_8K);
	KUNIT_EXPECT_EQ(test, at[2].phys, (phys_addr_t)1);
	KUNIT_EXPECT_EQ(test, at[2].length, 1ull);
}

/* ---- the list of a region ------------------------------------------------------------------- */

static void expect_list(struct kunit *test, u32 count)
{
	u32 i;

	KUNIT_ASSERT_EQ(test, pp_extents_read(region), 0);
	KUNIT_ASSERT_EQ(test, region->extents.count, count);
	KUNIT_EXPECT_EQ(test, pp_extents_counted(region), count);
	for (i = 0; i < count; i++) {
		u64 length = region->length / count;

		KUNIT_EXPECT_EQ_MSG(test, region->extents.at[i].phys, (phys_addr_t)memory_phys(i * length), "extent %u", i);
		KUNIT_EXPECT_EQ_MSG(test, region->extents.at[i].length, length, "extent %u", i);
	}
}

static void a_list_is_read_once(struct kunit *test)
{
	begin(test, &memory_provider, (struct memory){ .piece = SZ_64K, .gap = SZ_64K, .count = 10 });
	KUNIT_EXPECT_EQ(test, pp_extents_counted(region), 0u);
	expect_list(test, 10);
	KUNIT_EXPECT_EQ(test, memory.calls, 2u);	/* to count, and to list */
	expect_list(test, 10);
	KUNIT_EXPECT_EQ(test, memory.calls, 2u);
}

static void sixty_four_gib_in_65536_extents(struct kunit *test)
{
	begin(test, &memory_provider, (struct memory){ .piece = SZ_1M, .gap = SZ_4K, .count = 64 << 10 });
	KUNIT_EXPECT_EQ(test, region->length, 64ull * SZ_1G);
	expect_list(test, 64 << 10);
}

static void a_tebibyte_in_one_extent(struct kunit *test)
{
	begin(test, &memory_provider, (struct memory){ .piece = SZ_1G, .count = 1024 });
	KUNIT_EXPECT_EQ(test, region->length, (u64)SZ_1T);
	expect_list(test, 1);
}

static void memory_mapped_by_its_provider_has_no_list(struct kunit *test)
{
	begin(test, &mapping_provider, (struct memory){ .piece = SZ_4K, .count = 1 });
	KUNIT_EXPECT_EQ(test, pp_extents_read(region), -EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, region->users, 0u);
}

static void lengths_that_do_not_add_up_are_eio(struct kunit *test)
{
	begin(test, &memory_provider, (struct memory){ .piece = SZ_4K, .gap = SZ_4K, .count = 3 });
	region->length += SZ_4K;
	KUNIT_EXPECT_EQ(test, pp_extents_read(region), -EIO);
	region->length -= 2 * SZ_4K;
	KUNIT_EXPECT_EQ(test, pp_extents_read(region), -EIO);
	region->length += SZ_4K + (1ull << 32);	/* the low 32 bits are right */
	KUNIT_EXPECT_EQ(test, pp_extents_read(region), -EIO);
	KUNIT_EXPECT_NULL(test, region->extents.at);
}

/* ---- a part of a region ----------------------------------------------------------------------- */

/* The part must have exactly the pieces in which memory_phys() lists its bytes. */
static void expect_part(struct kunit *test, u64 offset, u64 length)
{
	struct pp_extents x = {};
	u64 done = 0;
	u32 i;

	KUNIT_EXPECT_EQ(test, pp_extents_read_part(region, offset, length, &x), 0);
	for (i = 0; i < x.count; i++) {
		u64 left = memory.piece - (offset + done) % memory.piece;

		KUNIT_EXPECT_EQ_MSG(test, x.at[i].phys, (phys_addr_t)memory_phys(offset + done), "extent %u", i);
		KUNIT_EXPECT_EQ_MSG(test, x.at[i].length, min(left, length - done), "extent %u", i);
		done += x.at[i].length;
	}
	KUNIT_EXPECT_EQ(test, done, length);
	KUNIT_EXPECT_EQ(test, x.bytes, length);
	kvfree(x.at);
}

static void a_part_has_its_bytes(struct kunit *test)
{
	u64 piece = SZ_64K;

	begin(test, &memory_provider, (struct memory){ .piece = piece, .gap = SZ_4K, .count = 8 });
	expect_part(test, 0, 8 * piece);
	expect_part(test, 0, SZ_4K);
	expect_part(test, SZ_4K, SZ_4K);
	expect_part(test, piece - SZ_4K, SZ_4K);	/* up to the end of an extent */
	expect_part(test, piece - SZ_4K, SZ_8K);	/* across it */
	expect_part(test, piece, piece);		/* exactly an extent */
	expect_part(test, 2 * piece, 3 * piece);
	expect_part(test, piece + SZ_4K, 4 * piece);
	expect_part(test, 8 * piece - SZ_4K, SZ_4K);
	KUNIT_EXPECT_EQ(test, memory.calls, 2u);	/* parts are cut from the list */
}

static void a_part_lies_beyond_32_bits(struct kunit *test)
{
	begin(test, &memory_provider, (struct memory){ .piece = SZ_1G, .gap = SZ_4K, .count = 1024 });
	expect_part(test, 4ull * SZ_1G, SZ_4K);
	expect_part(test, 4ull * SZ_1G - SZ_4K, SZ_8K);
	expect_part(test, SZ_1T - SZ_4K, SZ_4K);
	expect_part(test, SZ_4K, SZ_1T - SZ_8K);
}

static void a_part_of_one_extent_exceeds_32_bits(struct kunit *test)
{
	begin(test, &memory_provider, (struct memory){ .piece = SZ_1T, .count = 1 });
	expect_part(test, 5ull * SZ_1G, 6ull * SZ_1G);
	expect_part(test, 4ull * SZ_1G, SZ_4K);
	expect_part(test, 0, 4ull * SZ_1G);
}

static void expect_no_part(struct kunit *test, u64 offset, u64 length)
{
	struct pp_extents x = {};

	KUNIT_EXPECT_EQ(test, pp_extents_read_part(region, offset, length, &x), -EIO);
	kvfree(x.at);
}

static void a_part_outside_is_eio(struct kunit *test)
{
	begin(test, &memory_provider, (struct memory){ .piece = SZ_64K, .gap = SZ_4K, .count = 4 });
	expect_no_part(test, SZ_256K, SZ_4K);
	expect_no_part(test, SZ_256K - SZ_4K, SZ_8K);
	expect_no_part(test, SZ_4K, SZ_256K);
	expect_no_part(test, 1ull << 32, SZ_4K);
	expect_no_part(test, -(u64)SZ_4K, SZ_8K);	/* the sum of offset and length overflows */
	expect_no_part(test, U64_MAX, SZ_4K);
	expect_no_part(test, 0, U64_MAX);
}

/* ---- the end of a region ------------------------------------------------------------------------ */

static void an_ended_region_is_estale(struct kunit *test)
{
	struct pp_extents x = {};

	begin(test, &memory_provider, (struct memory){ .piece = SZ_4K, .count = 1 });
	pp_region_end(region, PP_REVOKED);
	KUNIT_EXPECT_EQ(test, pp_extents_read(region), -ESTALE);
	KUNIT_EXPECT_EQ(test, pp_extents_read_part(region, 0, SZ_4K, &x), -ESTALE);
	KUNIT_EXPECT_EQ(test, memory.calls, 0u);
	KUNIT_EXPECT_NULL(test, x.at);
}

static void revoke(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, region->users, 1u);	/* the cleanup waits until no call uses the region */
	pp_region_end(region, PP_REVOKED);
}

/* Nothing frees a list that appears after the end. */
static void no_list_appears_after_the_end(struct kunit *test)
{
	begin(test, &memory_provider,
	      (struct memory){ .piece = SZ_4K, .count = 1, .at_call = 2, .action = revoke });
	KUNIT_EXPECT_EQ(test, pp_extents_read(region), -ESTALE);
	KUNIT_EXPECT_EQ(test, memory.calls, 2u);
	KUNIT_EXPECT_NULL(test, region->extents.at);
	KUNIT_EXPECT_EQ(test, pp_extents_counted(region), 0u);
}

static void an_end_hides_the_number(struct kunit *test)
{
	begin(test, &memory_provider, (struct memory){ .piece = SZ_4K, .count = 1 });
	KUNIT_EXPECT_EQ(test, pp_extents_read(region), 0);
	KUNIT_EXPECT_EQ(test, pp_extents_counted(region), 1u);
	pp_region_end(region, PP_REVOKED);
	KUNIT_EXPECT_EQ(test, pp_extents_counted(region), 0u);
	KUNIT_EXPECT_NOT_NULL(test, region->extents.at);	/* until the last user has left */
}

static DECLARE_COMPLETION(other_reads);
static DECLARE_COMPLETION(other_has_read);
static int other_ret;

static int read_in_another_thread(void *arg)
{
	complete(&other_reads);
	other_ret = pp_extents_read(region);
	kthread_complete_and_exit(&other_has_read, 0);
}

static void start_another_thread(struct kunit *test)
{
	if (IS_ERR(kthread_run(read_in_another_thread, NULL, "extents_kunit"))) {
		complete(&other_has_read);
		return;
	}
	wait_for_completion(&other_reads);
	msleep(50);
	KUNIT_EXPECT_FALSE(test, completion_done(&other_has_read));
}

/* Readers of a list do not lock, so a second list must not replace it. */
static void another_thread_waits_for_the_list(struct kunit *test)
{
	reinit_completion(&other_reads);
	reinit_completion(&other_has_read);
	other_ret = -ENOMEM;
	begin(test, &memory_provider,
	      (struct memory){ .piece = SZ_4K, .gap = SZ_4K, .count = 3, .at_call = 2, .action = start_another_thread });
	KUNIT_EXPECT_EQ(test, pp_extents_read(region), 0);
	wait_for_completion(&other_has_read);
	KUNIT_EXPECT_EQ(test, other_ret, 0);
	KUNIT_EXPECT_EQ(test, memory.calls, 2u);
	expect_list(test, 3);
}

static struct kunit_case extents_cases[] = {
	KUNIT_CASE(adjacent_memory_is_one_extent),
	KUNIT_CASE(an_extent_exceeds_32_bits),
	KUNIT_CASE(no_extent_is_written_beyond_the_room),
	KUNIT_CASE(a_list_is_read_once),
	KUNIT_CASE(sixty_four_gib_in_65536_extents),
	KUNIT_CASE(a_tebibyte_in_one_extent),
	KUNIT_CASE(memory_mapped_by_its_provider_has_no_list),
	KUNIT_CASE(lengths_that_do_not_add_up_are_eio),
	KUNIT_CASE(a_part_has_its_bytes),
	KUNIT_CASE(a_part_lies_beyond_32_bits),
	KUNIT_CASE(a_part_of_one_extent_exceeds_32_bits),
	KUNIT_CASE(a_part_outside_is_eio),
	KUNIT_CASE(an_ended_region_is_estale),
	KUNIT_CASE(no_list_appears_after_the_end),
	KUNIT_CASE(an_end_hides_the_number),
	KUNIT_CASE(another_thread_waits_for_the_list),
	{}
};

struct kunit_suite extents_suite = {
	.name = "peerpin_extents",
	.init = extents_init,
	.exit = extents_exit,
	.test_cases = extents_cases,
};

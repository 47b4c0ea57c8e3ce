// SPDX-License-Identifier: GPL-2.0
#include <linux/rcupdate.h>
#include "../../../kmod/core/region/ref.c"
#include "suites.h"

static unsigned int released(void)
{
	return atomic_read(&regions_released);
}

static void the_last_put_releases(struct kunit *test)
{
	struct pp_ref *ref = &regions[0].ref;

	KUNIT_EXPECT_TRUE(test, pp_ref_is_one(ref));
	KUNIT_EXPECT_TRUE(test, pp_ref_tryget(ref));
	KUNIT_EXPECT_FALSE(test, pp_ref_is_one(ref));
	pp_ref_put(ref);
	KUNIT_EXPECT_EQ(test, released(), 0u);
	pp_ref_put(ref);
	KUNIT_EXPECT_EQ(test, released(), 1u);
	KUNIT_EXPECT_FALSE(test, pp_ref_tryget(ref));
}

/* References from before and after the count is spread, dropped before and after it is gathered */
static void a_spread_count_loses_no_reference(struct kunit *test)
{
	struct pp_ref *ref = &regions[0].ref;

	pp_ref_get(ref);
	pp_ref_spread(ref);
	KUNIT_ASSERT_EQ(test, ref->spread, true);
	KUNIT_EXPECT_FALSE(test, pp_ref_is_one(ref));
	pp_ref_get(ref);
	pp_ref_put(ref);
	pp_ref_put(ref);
	KUNIT_EXPECT_TRUE(test, pp_ref_tryget(ref));
	pp_ref_gather(ref);
	pp_ref_gather(ref);
	KUNIT_EXPECT_FALSE(test, pp_ref_tryget(ref));
	pp_ref_put(ref);
	rcu_barrier();
	KUNIT_EXPECT_EQ(test, released(), 0u);
	pp_ref_get(ref);
	pp_ref_put(ref);
	KUNIT_EXPECT_EQ(test, released(), 0u);
	pp_ref_put(ref);
	KUNIT_EXPECT_EQ(test, released(), 1u);
	KUNIT_EXPECT_FALSE(test, pp_ref_tryget(ref));
}

static void a_put_before_the_grace_period_releases(struct kunit *test)
{
	struct pp_ref *ref = &regions[0].ref;

	pp_ref_spread(ref);
	KUNIT_ASSERT_EQ(test, ref->spread, true);
	pp_ref_gather(ref);
	pp_ref_put(ref);
	rcu_barrier();
	KUNIT_EXPECT_EQ(test, released(), 1u);
}

static struct kunit_case ref_cases[] = {
	KUNIT_CASE(the_last_put_releases),
	KUNIT_CASE(a_spread_count_loses_no_reference),
	KUNIT_CASE(a_put_before_the_grace_period_releases),
	{}
};

struct kunit_suite ref_suite = {
	.name = "peerpin_ref",
	.init = regions_init,
	.exit = regions_exit,
	.test_cases = ref_cases,
};

// SPDX-License-Identifier: GPL-2.0
#include <linux/mm.h>
#include "../../../kmod/core/region/region.c"
#include "suites.h"

/* ---- functions of other parts of peerpin.ko ---------------------------------------- */

static atomic_t uncharged = ATOMIC_INIT(0);

struct pp_account *pp_account_hold(struct pp_account *account)
{
	return account;
}

void pp_account_put(struct pp_account *account)
{
}

void pp_account_count_revoked(struct pp_account *account)
{
}

void pp_account_uncharge(struct pp_account *account, u64 bytes)
{
	if (bytes)
		atomic_inc(&uncharged);
}

void pp_provider_put(const struct pp_provider *provider)
{
}

void pp_inflight_gather_all_locked(struct peerpin_region *r)
{
}

void pp_region_stop_work(struct work_struct *work)
{
}

void pp_region_work(struct work_struct *work)
{
}

/* ---- regions for the suites ---------------------------------------------------------- */

struct peerpin_region *regions;
atomic_t regions_released;

static void count_release(struct pp_ref *ref)
{
	atomic_inc(&regions_released);
}

int regions_init(struct kunit *test)
{
	unsigned int i;

	regions = kvcalloc(REGIONS, sizeof(*regions), GFP_KERNEL);
	if (!regions)
		return -ENOMEM;
	for (i = 0; i < REGIONS; i++)
		pp_ref_init(&regions[i].ref, count_release);
	atomic_set(&regions_released, 0);
	return 0;
}

void regions_exit(struct kunit *test)
{
	kvfree(regions);
}

struct peerpin_region *region_pinned(const struct pp_provider *provider, u64 length)
{
	struct peerpin_region *r = pp_region_alloc(provider, NULL);

	if (!r)
		return NULL;
	r->length = length;
	r->epoch = &r->own_epoch;
	r->pin_epoch = pp_epoch_begin(r->epoch);
	spin_lock_irq(&r->lock);
	pp_region_move_locked(r, PP_LIVE);
	spin_unlock_irq(&r->lock);
	return r;
}

/* ---- the suite ------------------------------------------------------------------------- */

static const struct pp_provider bare_provider = { .name = "bare" };

static int region_init(struct kunit *test)
{
	test->priv = region_pinned(&bare_provider, PAGE_SIZE);
	return test->priv ? 0 : -ENOMEM;
}

static void region_exit(struct kunit *test)
{
	pp_region_put(test->priv);
}

static void only_a_live_region_has_users(struct kunit *test)
{
	struct peerpin_region *r = test->priv;

	KUNIT_EXPECT_EQ(test, pp_region_enter(r), 0);
	KUNIT_EXPECT_EQ(test, pp_region_enter(r), 0);
	KUNIT_EXPECT_FALSE(test, pp_region_is_zero(r, &r->users));
	pp_region_leave(r);
	pp_region_end(r, PP_REVOKED);
	KUNIT_EXPECT_EQ(test, pp_region_enter(r), -ESTALE);
	KUNIT_EXPECT_EQ(test, r->users, 1u);
	pp_region_leave(r);
	KUNIT_EXPECT_TRUE(test, pp_region_is_zero(r, &r->users));
}

static void a_region_ends_once(struct kunit *test)
{
	struct peerpin_region *r = test->priv;
	u32 live = *r->epoch;
	bool first, second;

	KUNIT_EXPECT_EQ(test, live & 1, 1u);
	spin_lock_irq(&r->lock);
	first = pp_region_end_locked(r, PP_REVOKED);
	second = pp_region_end_locked(r, PP_CLOSED);
	spin_unlock_irq(&r->lock);
	KUNIT_EXPECT_TRUE(test, first);
	KUNIT_EXPECT_FALSE(test, second);
	KUNIT_EXPECT_EQ(test, (int)r->cause, (int)PP_REVOKED);
	KUNIT_EXPECT_EQ(test, (int)r->state, (int)PP_ENDING);
	KUNIT_EXPECT_EQ(test, *r->epoch, live + 1);
}

/* A pin that is revoked before it returns has no pages to give back later. */
static void an_end_during_the_pin_is_final(struct kunit *test)
{
	struct peerpin_region *r = test->priv;

	spin_lock_irq(&r->lock);
	pp_region_move_locked(r, PP_PINNING);
	spin_unlock_irq(&r->lock);
	KUNIT_EXPECT_FALSE(test, pp_region_is_live(r));
	KUNIT_EXPECT_EQ(test, pp_region_enter(r), -ESTALE);
	pp_region_end(r, PP_REVOKED);
	KUNIT_EXPECT_EQ(test, (int)r->state, (int)PP_ENDED);
	KUNIT_EXPECT_EQ(test, *r->epoch & 1, 0u);
}

static void maps_stop_at_their_maximum(struct kunit *test)
{
	struct peerpin_region *r = test->priv;

	spin_lock_irq(&r->lock);
	r->maps = U32_MAX - 1;
	pp_region_count_map_locked(r);
	pp_region_count_map_locked(r);
	spin_unlock_irq(&r->lock);
	KUNIT_EXPECT_EQ(test, r->maps, U32_MAX);
}

static void bytes_are_given_back_once(struct kunit *test)
{
	struct peerpin_region *r = test->priv;

	atomic_set(&uncharged, 0);
	atomic64_set(&r->charged, SZ_1T);
	pp_region_uncharge(r);
	pp_region_uncharge(r);
	KUNIT_EXPECT_EQ(test, atomic_read(&uncharged), 1);
}

static struct kunit_case region_cases[] = {
	KUNIT_CASE(only_a_live_region_has_users),
	KUNIT_CASE(a_region_ends_once),
	KUNIT_CASE(an_end_during_the_pin_is_final),
	KUNIT_CASE(maps_stop_at_their_maximum),
	KUNIT_CASE(bytes_are_given_back_once),
	{}
};

struct kunit_suite region_suite = {
	.name = "peerpin_region",
	.init = region_init,
	.exit = region_exit,
	.test_cases = region_cases,
};

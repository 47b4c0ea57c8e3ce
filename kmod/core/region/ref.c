// SPDX-License-Identifier: GPL-2.0
#include <linux/container_of.h>
#include "ref.h"

/*
 * Larger than the number of references taken before the count was spread. Such references are dropped
 * from @many. Without the bias the sum of @many would fall below 0.
 */
#define PP_REF_BIAS (1ul << 32)

void pp_ref_init(struct pp_ref *ref, void (*release)(struct pp_ref *ref))
{
	*ref = (struct pp_ref){ .few = REFCOUNT_INIT(1), .release = release };
}

/* Under RCU, because ref_gathered() relies on @few: pairs with pp_ref_spread(). */
static bool ref_is_spread(const struct pp_ref *ref)
{
	return smp_load_acquire(&ref->spread);
}

void pp_ref_get(struct pp_ref *ref)
{
	rcu_read_lock();
	if (ref_is_spread(ref))
		percpu_ref_get(&ref->many);
	else
		refcount_inc(&ref->few);
	rcu_read_unlock();
}

bool pp_ref_tryget(struct pp_ref *ref)
{
	bool got;

	rcu_read_lock();
	got = ref_is_spread(ref) ? percpu_ref_tryget_live(&ref->many) : refcount_inc_not_zero(&ref->few);
	rcu_read_unlock();
	return got;
}

void pp_ref_put(struct pp_ref *ref)
{
	bool last = false;

	rcu_read_lock();
	if (ref_is_spread(ref))
		percpu_ref_put(&ref->many);
	else
		last = refcount_dec_and_test(&ref->few);
	rcu_read_unlock();
	if (last)
		ref->release(ref);
}

bool pp_ref_is_one(const struct pp_ref *ref)
{
	return !READ_ONCE(ref->spread) && refcount_read(&ref->few) == 1;
}

static void ref_released(struct percpu_ref *many)
{
	struct pp_ref *ref = container_of(many, struct pp_ref, many);

	percpu_ref_exit(many);
	ref->release(ref);
}

void pp_ref_spread(struct pp_ref *ref)
{
	if (ref->spread || percpu_ref_init(&ref->many, ref_released, 0, PP_SPREAD_GFP))
		return;
	percpu_ref_get_many(&ref->many, PP_REF_BIAS);
	refcount_inc(&ref->few);	/* so that @few never falls to 0 */
	smp_store_release(&ref->spread, true);
}

/* All threads that saw @spread unset have left their read-side section, so @few is final. */
static void ref_gathered(struct percpu_ref *many)
{
	struct pp_ref *ref = container_of(many, struct pp_ref, many);

	percpu_ref_get_many(many, refcount_read(&ref->few) - 1);
	percpu_ref_put_many(many, PP_REF_BIAS);
}

void pp_ref_gather(struct pp_ref *ref)
{
	if (ref->spread && !percpu_ref_is_dying(&ref->many))
		percpu_ref_kill_and_confirm(&ref->many, ref_gathered);
}

// SPDX-License-Identifier: GPL-2.0
#include <linux/hashtable.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/refcount.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "account.h"
#include "counts.h"
#include "provider.h"

/*
 * The limits are off by default. Users that do not trust each other need them:
 * doc/security.md (rows 28 to 30, 36, 37). RLIMIT_MEMLOCK does not count GPU memory.
 */
static unsigned long max_process_bytes;
module_param(max_process_bytes, ulong, 0644);
MODULE_PARM_DESC(max_process_bytes, "bytes that one process may pin; 0: no limit");

static unsigned long max_total_bytes;
module_param(max_total_bytes, ulong, 0644);
MODULE_PARM_DESC(max_total_bytes, "bytes that all processes together may pin; 0: no limit");

static unsigned int max_process_regions;
module_param(max_process_regions, uint, 0644);
MODULE_PARM_DESC(max_process_regions, "regions that one process may pin; 0: no limit");

static unsigned long max_process_watched_bytes;
module_param(max_process_watched_bytes, ulong, 0644);
MODULE_PARM_DESC(max_process_watched_bytes, "bytes that one process may watch; 0: no limit");

/**
 * struct pp_account - see account.h
 * @ref: references: one for each file and each region of the process
 * @in_accounts: entry in accounts; under accounts_lock
 * @owner: pid of the process; the reference prevents a reuse of the pid structure
 * @pins, @revoked: number of pins and revocations since the account was made; in a cache line
 *	that a pin writes anyway
 */
struct pp_account {
	refcount_t ref;
	struct hlist_node in_accounts;
	struct pid *owner;
	atomic64_t bytes;
	atomic64_t regions;
	atomic64_t pins;
	atomic64_t revoked;
	atomic64_t watched;
};

static DEFINE_SPINLOCK(accounts_lock);
static DEFINE_HASHTABLE(accounts, 8);
static atomic64_t total_bytes = ATOMIC64_INIT(0);

struct pid *pp_account_owner(const struct pp_account *account)
{
	return account->owner;
}

struct pp_account *pp_account_hold(struct pp_account *account)
{
	refcount_inc(&account->ref);
	return account;
}

static struct pp_account *account_find_locked(struct pid *owner)
{
	struct pp_account *a;

	hash_for_each_possible(accounts, a, in_accounts, (unsigned long)owner)
		if (a->owner == owner)
			return pp_account_hold(a);
	return NULL;
}

static struct pp_account *account_find(struct pid *owner)
{
	struct pp_account *a;

	spin_lock_irq(&accounts_lock);
	a = account_find_locked(owner);
	spin_unlock_irq(&accounts_lock);
	return a;
}

/* If another thread has published an account of the process, return that account and free @new. */
static struct pp_account *account_publish(struct pp_account *new)
{
	struct pp_account *found;

	spin_lock_irq(&accounts_lock);
	found = account_find_locked(new->owner);
	if (!found)
		hash_add(accounts, &new->in_accounts, (unsigned long)new->owner);
	spin_unlock_irq(&accounts_lock);
	if (!found)
		return new;
	put_pid(new->owner);
	kfree(new);
	return found;
}

struct pp_account *pp_account_get(struct pid *owner)
{
	struct pp_account *a = account_find(owner);

	if (a)
		return a;
	a = kzalloc(sizeof(*a), GFP_KERNEL_ACCOUNT);
	if (!a)
		return NULL;
	refcount_set(&a->ref, 1);
	a->owner = get_pid(owner);
	return account_publish(a);
}

/* The last reference is dropped under the lock, so that no look-up finds a dead account. */
void pp_account_put(struct pp_account *a)
{
	unsigned long flags;
	bool last;

	if (refcount_dec_not_one(&a->ref))
		return;
	spin_lock_irqsave(&accounts_lock, flags);
	last = refcount_dec_and_test(&a->ref);
	if (last)
		hash_del(&a->in_accounts);
	spin_unlock_irqrestore(&accounts_lock, flags);
	if (!last)
		return;
	put_pid(a->owner);
	kfree(a);
}

/*
 * *@sum never exceeds @limit, not even for a moment: pins of other threads would fail.
 * @limit: maximum of *@sum; 0: no limit
 * @room: set on failure: how much may still be added
 */
static bool account_add(atomic64_t *sum, u64 n, u64 limit, u64 *room)
{
	s64 now = atomic64_read(sum);

	if (!limit) {
		atomic64_add(n, sum);
		return true;
	}
	do {
		*room = limit > now ? limit - now : 0;
		if (n > *room)
			return false;
	} while (!atomic64_try_cmpxchg(sum, &now, now + n));
	return true;
}

static bool account_add_bytes(atomic64_t *sum, u64 bytes, u64 limit,
			      u32 reason, struct pp_why *why)
{
	u64 room;

	if (account_add(sum, bytes, limit, &room))
		return true;
	why->reason = reason;
	why->needed = bytes;
	why->available = room;
	return false;
}

int pp_account_charge(struct pp_account *a, u64 bytes, struct pp_why *why)
{
	u64 room;

	if (!account_add(&a->regions, 1, READ_ONCE(max_process_regions), &room)) {
		why->reason = PEERPIN_REASON_LIMIT;
		return -EDQUOT;
	}
	if (!account_add_bytes(&a->bytes, bytes, READ_ONCE(max_process_bytes),
			       PEERPIN_REASON_PROCESS_BYTES, why))
		goto err_region;
	if (!account_add_bytes(&total_bytes, bytes, READ_ONCE(max_total_bytes),
			       PEERPIN_REASON_TOTAL_BYTES, why))
		goto err_bytes;
	pp_count(regions);
	return 0;

err_bytes:
	atomic64_sub(bytes, &a->bytes);
err_region:
	atomic64_dec(&a->regions);
	return -EDQUOT;
}

void pp_account_uncharge(struct pp_account *a, u64 bytes)
{
	if (!bytes)
		return;
	atomic64_sub(bytes, &total_bytes);
	atomic64_sub(bytes, &a->bytes);
	atomic64_dec(&a->regions);
	pp_uncount(regions);
}

int pp_account_watch(struct pp_account *a, u64 bytes, struct pp_why *why)
{
	return account_add_bytes(&a->watched, bytes, READ_ONCE(max_process_watched_bytes),
				 PEERPIN_REASON_WATCHED_BYTES, why) ? 0 : -EDQUOT;
}

void pp_account_unwatch(struct pp_account *a, u64 bytes)
{
	atomic64_sub(bytes, &a->watched);
}

u64 pp_account_total_bytes(void)
{
	return atomic64_read(&total_bytes);
}

void pp_account_count_pin(struct pp_account *a)
{
	atomic64_inc(&a->pins);
	pp_count(pins);
}

void pp_account_count_revoked(struct pp_account *a)
{
	atomic64_inc(&a->revoked);
	pp_count(revoked);
}

struct pp_account_counts pp_account_counts(const struct pp_account *a)
{
	return (struct pp_account_counts){
		.pins = atomic64_read(&a->pins),
		.revoked = atomic64_read(&a->revoked),
		.watched = atomic64_read(&a->watched),
	};
}

static void account_show(struct seq_file *m, const struct pp_account *a)
{
	struct pp_account_counts counts = pp_account_counts(a);

	seq_printf(m, "%d %lld %lld %llu %llu %llu\n", pid_nr(a->owner),
		   atomic64_read(&a->bytes), atomic64_read(&a->regions),
		   counts.pins, counts.revoked, counts.watched);
}

/* Takes the lock for one bucket at a time, because open() and exit wait for the lock. */
void pp_accounts_show(struct seq_file *m)
{
	struct pp_account *a;
	unsigned int i;

	for (i = 0; i < HASH_SIZE(accounts); i++) {
		spin_lock_irq(&accounts_lock);
		hlist_for_each_entry(a, &accounts[i], in_accounts)
			account_show(m, a);
		spin_unlock_irq(&accounts_lock);
	}
	seq_printf(m, "all %lld - - - -\n", atomic64_read(&total_bytes));
}

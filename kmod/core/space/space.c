// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel changes pages between invalidate_range_start() and invalidate_range_end(). A range that
 * is in the space ends in invalidate_range_start(). A range that is added later waits for
 * invalidate_range_end(): otherwise its owner could register or pin the old page just before the kernel
 * replaces it, and no notifier would follow. doc/lifetimes.md has the argument.
 */
#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/err.h>
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/mmu_notifier.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>
#include "changes.h"
#include "space.h"

enum {
	SPACE_BATCH = 4,	/* ranges that end between two releases of the lock */
	SPACE_BITS = 8,		/* buckets of the table of spaces, as a power of two */
};

/**
 * struct pp_space - the ranges of an address space
 * @entry: in the table of spaces until the address space ends
 * @refs: one of the table, one of each pp_space_get(); at 0, @unregister puts the notifier
 * @changed: its lock protects all fields below. The MMU notifier takes the lock, in memory reclaim
 *	too: do not allocate inside. The locks of @end nest inside. Woken by the end of each change
 * @ranges: two trees of struct pp_space_range, by @node; the second tree has the ranges of pinned pages
 * @count: number of ranges in each tree
 * @changes: changes of pages that are in progress
 */
struct pp_space {
	struct mmu_notifier notifier;
	struct hlist_node entry;
	refcount_t refs;
	struct rcu_work unregister;
	wait_queue_head_t changed ____cacheline_aligned_in_smp;
	struct rb_root_cached ranges[2];
	unsigned int count[2];
	struct pp_changes changes;
};

static struct pp_space *space_of(struct mmu_notifier *n)
{
	return container_of(n, struct pp_space, notifier);
}

static struct rb_root_cached *space_tree(struct pp_space *s, const struct pp_space_range *range)
{
	return &s->ranges[range->ops->pinned];
}

static int space_insert_locked(struct pp_space *s, struct pp_space_range *range)
{
	unsigned int *count = &s->count[range->ops->pinned];

	lockdep_assert_held(&s->changed.lock);
	if (range->ops->most && *count >= range->ops->most)
		return -EDQUOT;
	interval_tree_insert(&range->node, space_tree(s, range));
	++*count;
	return 0;
}

/* ---- the end of ranges --------------------------------------------------------------- */

static bool space_remove_locked(struct pp_space *s, struct pp_space_range *range)
{
	lockdep_assert_held(&s->changed.lock);
	if (RB_EMPTY_NODE(&range->node.rb))
		return false;
	interval_tree_remove(&range->node, space_tree(s, range));
	s->count[range->ops->pinned]--;
	RB_CLEAR_NODE(&range->node.rb);
	return true;
}

/* Ends at most SPACE_BATCH ranges. False: there may be more */
static bool space_end_some_locked(struct pp_space *s, bool pinned, unsigned long first, unsigned long last,
				  bool changed)
{
	struct interval_tree_node *node;
	struct pp_space_range *range;
	unsigned int i;

	for (i = 0; i < SPACE_BATCH; i++) {
		node = interval_tree_iter_first(&s->ranges[pinned], first, last);
		if (!node)
			return true;
		range = container_of(node, struct pp_space_range, node);
		space_remove_locked(s, range);
		range->ops->end(range, changed);
	}
	return false;
}

/* A process may watch or pin one page a million times, so release the lock in between. */
static void space_end_locked(struct pp_space *s, bool pinned, unsigned long first, unsigned long last,
			     bool changed, bool may_sleep)
	__must_hold(&s->changed.lock)
{
	while (!space_end_some_locked(s, pinned, first, last, changed)) {
		spin_unlock(&s->changed.lock);
		if (may_sleep)
			cond_resched();
		spin_lock(&s->changed.lock);
	}
}

/* ---- a range that waits ---------------------------------------------------------------- */

static bool change_concerns(const struct pp_change *c, const struct pp_space_range *range)
{
	return pp_change_concerns(c, range->node.start, range->node.last, range->ops->pinned);
}

static u64 space_last_change(const struct pp_space *s, const struct pp_space_range *range)
{
	return pp_changes_last(&s->changes, range->node.start, range->node.last, range->ops->pinned);
}

struct space_waiter {
	struct wait_queue_entry wait;
	const struct pp_space_range *range;
};

/*
 * @key: the change that has ended, or NULL: a change that was not listed. Does not wake threads that wait for other
 * ranges, because a process can have hundreds of waiting threads.
 */
static int space_wake(struct wait_queue_entry *wait, unsigned int mode, int sync, void *key)
{
	struct space_waiter *w = container_of(wait, struct space_waiter, wait);

	return key && !change_concerns(key, w->range) ? 0 : default_wake_function(wait, mode, sync, NULL);
}

/*
 * Waits until no page of @range is changing. -EINTR: a signal arrived first. -ESTALE: a change of @range began during
 * the wait; if no memory was left to list changes, a change of any range. So threads that change the range all the
 * time cannot delay the call without a bound.
 */
static int space_await_locked(struct pp_space *s, const struct pp_space_range *range)
	__must_hold(&s->changed.lock)
{
	struct space_waiter w = { .range = range };
	bool may_grow = true, slept = false;
	u64 begun = s->changes.begun, last;
	int ret = 0;

	init_waitqueue_func_entry(&w.wait, space_wake);
	w.wait.private = current;
	__add_wait_queue(&s->changed, &w.wait);
	while ((last = space_last_change(s, range)) || s->changes.more) {
		if (signal_pending(current)) {
			ret = -EINTR;
			break;
		}
		if (last > begun || (slept && !may_grow && s->changes.begun > begun)) {
			ret = -ESTALE;
			break;
		}
		if (may_grow && s->changes.full) {
			spin_unlock(&s->changed.lock);
			may_grow = pp_changes_grow(&s->changes, &s->changed.lock);
			spin_lock(&s->changed.lock);
			continue;
		}
		set_current_state(TASK_INTERRUPTIBLE);
		spin_unlock(&s->changed.lock);
		schedule();
		spin_lock(&s->changed.lock);
		slept = true;
	}
	__remove_wait_queue(&s->changed, &w.wait);
	return ret;
}

/* ---- the MMU notifier ------------------------------------------------------------------ */

/*
 * These events change protections and flags in the page table, but replace no page. All other
 * events may, those of later kernels too. CLEAR may also leave all pages in place (split of a huge
 * page, failed migration); a notifier cannot distinguish that.
 */
static bool replaces_pages(const struct mmu_notifier_range *range)
{
	return range->event != MMU_NOTIFY_PROTECTION_VMA &&
	       range->event != MMU_NOTIFY_PROTECTION_PAGE &&
	       range->event != MMU_NOTIFY_SOFT_DIRTY;
}

/*
 * MIGRATE (migrate_vma_setup(), for a GPU) comes for a whole range, but leaves pinned pages in place. EXCLUSIVE
 * changes only the page table. Other migration sends CLEAR.
 */
static bool keeps_pinned_pages(const struct mmu_notifier_range *range)
{
	return range->event == MMU_NOTIFY_MIGRATE || range->event == MMU_NOTIFY_EXCLUSIVE;
}

static int space_range_start(struct mmu_notifier *n, const struct mmu_notifier_range *range)
{
	bool may_sleep = mmu_notifier_range_blockable(range);
	struct pp_space *s = space_of(n);
	bool keeps_pinned = keeps_pinned_pages(range);

	if (!replaces_pages(range))
		return 0;
	spin_lock(&s->changed.lock);
	pp_change_begin(&s->changes, range->start, range->end, keeps_pinned);
	space_end_locked(s, false, range->start, range->end - 1, true, may_sleep);
	if (!keeps_pinned)
		space_end_locked(s, true, range->start, range->end - 1, true, may_sleep);
	spin_unlock(&s->changed.lock);
	return 0;
}

static void space_range_end(struct mmu_notifier *n, const struct mmu_notifier_range *range)
{
	struct pp_change change = {
		.start = range->start, .end = range->end, .by = current, .keeps_pinned = keeps_pinned_pages(range),
	};
	struct pp_space *s = space_of(n);
	bool listed;

	if (!replaces_pages(range))
		return;
	spin_lock(&s->changed.lock);
	listed = pp_change_end(&s->changes, &change);
	if (waitqueue_active(&s->changed))
		__wake_up_locked_key(&s->changed, TASK_INTERRUPTIBLE, listed ? &change : NULL);
	spin_unlock(&s->changed.lock);
}

/*
 * The table of spaces. A space stays in the table until its address space ends. Otherwise a process that pins and
 * unpins again and again would register the notifier for each pin, and take all locks of its mappings.
 */
static DEFINE_HASHTABLE(spaces, SPACE_BITS);
static DEFINE_SPINLOCK(spaces_lock);

static struct workqueue_struct *spaces_wq;

/* Number of spaces that are not freed */
static atomic_t spaces_left = ATOMIC_INIT(0);

static void space_unregister(struct work_struct *work)
{
	mmu_notifier_put(&container_of(to_rcu_work(work), struct pp_space, unregister)->notifier);
}

/*
 * After space_release(), exit() calls synchronize_srcu(). It is expedited, unless mmu_notifier_put() has just started a
 * grace period: then it takes about 20 ms. So call mmu_notifier_put() later, from a work item. The work item runs after
 * a grace period of RCU, which readers of the table need anyway.
 */
void pp_space_put(struct pp_space *s)
{
	if (refcount_dec_and_test(&s->refs))
		queue_rcu_work(spaces_wq, &s->unregister);
}

static void space_take_out(struct pp_space *s)
{
	bool found;

	spin_lock(&spaces_lock);
	found = hash_hashed(&s->entry);
	hash_del_rcu(&s->entry);
	spin_unlock(&spaces_lock);
	if (found)
		pp_space_put(s);
}

/* exit(), or exec(): the last user of the address space is gone. */
static void space_release(struct mmu_notifier *n, struct mm_struct *mm)
{
	struct pp_space *s = space_of(n);

	spin_lock(&s->changed.lock);
	space_end_locked(s, false, 0, ULONG_MAX, false, true);
	space_end_locked(s, true, 0, ULONG_MAX, false, true);
	spin_unlock(&s->changed.lock);
	space_take_out(s);
}

static struct mmu_notifier *space_alloc(struct mm_struct *mm)
{
	struct pp_space *s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);

	if (!s)
		return ERR_PTR(-ENOMEM);
	refcount_set(&s->refs, 1);
	INIT_RCU_WORK(&s->unregister, space_unregister);
	init_waitqueue_head(&s->changed);
	s->ranges[false] = RB_ROOT_CACHED;
	s->ranges[true] = RB_ROOT_CACHED;
	pp_changes_init(&s->changes);
	atomic_inc(&spaces_left);
	return &s->notifier;
}

static void space_free(struct mmu_notifier *n)
{
	struct pp_space *s = space_of(n);

	pp_changes_free(&s->changes);
	kfree(s);
	if (atomic_dec_and_test(&spaces_left))
		wake_up_var(&spaces_left);
}

static const struct mmu_notifier_ops space_ops = {
	.invalidate_range_start = space_range_start,
	.invalidate_range_end = space_range_end,
	.release = space_release,
	.alloc_notifier = space_alloc,
	.free_notifier = space_free,
};

/* ---- for watches and pins ---------------------------------------------------------------- */

/* @mm is current->mm and does not end during the call, so the table keeps its reference, and @refs is not 0. */
static struct pp_space *space_find(const struct mm_struct *mm)
{
	struct pp_space *s;

	rcu_read_lock();
	hash_for_each_possible_rcu(spaces, s, entry, (unsigned long)mm)
		if (s->notifier.mm == mm)
			break;
	if (s)
		refcount_inc(&s->refs);
	rcu_read_unlock();
	return s;
}

/*
 * The kernel locks the reverse maps of all mappings one after the other, and fails as soon as a signal is pending. A
 * process with many mappings and a profiler's timer might never succeed. So this function blocks all signals but
 * SIGKILL meanwhile.
 */
static struct mmu_notifier *space_notifier_locked(struct mm_struct *mm)
{
	struct mmu_notifier *n;
	sigset_t most, before;

	siginitsetinv(&most, sigmask(SIGKILL));
	sigprocmask(SIG_BLOCK, &most, &before);
	n = mmu_notifier_get_locked(&space_ops, mm);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return n;
}

static struct pp_space *space_make_locked(struct mm_struct *mm)
{
	struct mmu_notifier *n = space_notifier_locked(mm);
	struct pp_space *s;

	if (IS_ERR(n))
		return ERR_CAST(n);
	s = space_of(n);
	refcount_inc(&s->refs);
	spin_lock(&spaces_lock);
	hash_add_rcu(spaces, &s->entry, (unsigned long)mm);
	spin_unlock(&spaces_lock);
	return s;
}

struct pp_space *pp_space_get(void)
{
	struct mm_struct *mm = current->mm;
	struct pp_space *s = space_find(mm);

	if (s)
		return s;
	if (mmap_write_lock_killable(mm))
		return ERR_PTR(-EINTR);
	s = space_find(mm) ?: space_make_locked(mm);
	mmap_write_unlock(mm);
	return s;
}

/* The notifier holds a reference to its mm, so no other mm has the same address. */
bool pp_space_is(const struct pp_space *s, const struct mm_struct *mm)
{
	return s->notifier.mm == mm;
}

int pp_space_add(struct pp_space *s, struct pp_space_range *range)
{
	int ret;

	might_sleep();
	spin_lock(&s->changed.lock);
	ret = space_await_locked(s, range) ?: space_insert_locked(s, range);
	spin_unlock(&s->changed.lock);
	return ret;
}

void pp_space_remove(struct pp_space *s, struct pp_space_range *range)
{
	spin_lock(&s->changed.lock);
	space_remove_locked(s, range);
	spin_unlock(&s->changed.lock);
}

void pp_space_end(struct pp_space *s, struct pp_space_range *range)
{
	spin_lock(&s->changed.lock);
	if (space_remove_locked(s, range))
		range->ops->end(range, false);
	spin_unlock(&s->changed.lock);
}

int pp_space_init(void)
{
	spaces_wq = alloc_workqueue("peerpin_spaces", WQ_UNBOUND, 0);
	return spaces_wq ? 0 : -ENOMEM;
}

/*
 * mmu_notifier_synchronize() does not wait for SRCU callbacks of other processors, which call space_free(). So wait
 * until @spaces_left is 0. Then the last callback can still be in space_free(): it runs with softirqs off, so
 * synchronize_rcu() waits for it.
 */
void pp_space_exit(void)
{
	struct pp_space *s;
	int i;

	rcu_read_lock();
	hash_for_each_rcu(spaces, i, s, entry)
		space_take_out(s);
	rcu_read_unlock();
	wait_var_event(&spaces_left, !atomic_read(&spaces_left));
	synchronize_rcu();
	destroy_workqueue(spaces_wq);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel changes pages between invalidate_range_start() and invalidate_range_end(). A watch that
 * is in the tree ends in invalidate_range_start(). A watch that begins later waits for
 * invalidate_range_end(): otherwise its owner could register the old page just before the kernel
 * replaces it, and no notifier would follow. doc/lifetimes.md has the argument.
 */
#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include <linux/wait_bit.h>
#include "../region/account.h"
#include "../region/counts.h"
#include "../region/epoch.h"
#include "space.h"
#include "trace.h"

enum {
	SPACE_CHANGES = 64,	/* initial room for changes; a watch makes more room if it is full */
	SPACE_CHANGES_MAX = 1 << 20,
	SPACE_BATCH = 128,	/* watches that end between two releases of the lock */
};

/* Pages that the kernel is changing: from invalidate_range_start() to invalidate_range_end(), in the same thread */
struct pp_change {
	unsigned long start;
	unsigned long end;
	const struct task_struct *by;	/* only compared */
};

/**
 * struct pp_space - the watches of an address space
 * @changed: its lock protects all fields below. The MMU notifier takes the lock, in memory reclaim
 *	too: do not allocate inside. No lock is taken inside. Woken by the end of each change
 * @watches: tree of struct pp_watch, by @range; watches of all files of the process
 * @changes: ranges of pages that the kernel is changing: the first @count of @room elements
 * @more: number of changes that had no room in @changes; they may be of any range
 * @full: a change had no room, and no watch has made room since
 * @first: initial array of @changes
 */
struct pp_space {
	struct mmu_notifier notifier;
	wait_queue_head_t changed;
	struct rb_root_cached watches;
	struct pp_change *changes;
	unsigned int count;
	unsigned int room;
	unsigned int more;
	bool full;
	struct pp_change first[SPACE_CHANGES];
};

static struct pp_space *space_of(struct mmu_notifier *n)
{
	return container_of(n, struct pp_space, notifier);
}

/* ---- the end of watches ------------------------------------------------------------ */

enum watch_why {
	WATCH_UNWATCHED,	/* the owner ended the watch, or the address space ended */
	WATCH_CHANGED,		/* the kernel is about to change a page of the range */
};

static void watch_end_locked(struct pp_space *s, struct pp_watch *w, enum watch_why why)
{
	lockdep_assert_held(&s->changed.lock);
	interval_tree_remove(&w->range, &s->watches);
	RB_CLEAR_NODE(&w->range.rb);
	pp_epoch_end(w->word);
	pp_account_unwatch(w->account, pp_watch_bytes(w));
	pp_uncount(watches);
	if (why == WATCH_CHANGED) {
		pp_count(watches_changed);
		trace_peerpin_watch_changed(w);
	}
}

/* Ends at most SPACE_BATCH watches. False: there may be more */
static bool space_end_some_locked(struct pp_space *s, unsigned long first, unsigned long last, enum watch_why why)
{
	struct interval_tree_node *range;
	unsigned int i;

	for (i = 0; i < SPACE_BATCH; i++) {
		range = interval_tree_iter_first(&s->watches, first, last);
		if (!range)
			return true;
		watch_end_locked(s, container_of(range, struct pp_watch, range), why);
	}
	return false;
}

/* A process may watch one page a million times, so release the lock in between. */
static void space_end_locked(struct pp_space *s, unsigned long first, unsigned long last, bool may_sleep,
			     enum watch_why why)
	__must_hold(&s->changed.lock)
{
	while (!space_end_some_locked(s, first, last, why)) {
		spin_unlock(&s->changed.lock);
		if (may_sleep)
			cond_resched();
		spin_lock(&s->changed.lock);
	}
}

/* ---- changes in progress ------------------------------------------------------------- */

static void change_begin_locked(struct pp_space *s, const struct mmu_notifier_range *range)
{
	if (s->count < s->room) {
		s->changes[s->count++] = (struct pp_change){ range->start, range->end, current };
		return;
	}
	s->more++;
	s->full = true;
}

/* True: the change was listed. False: it was counted in @more. */
static bool change_end_locked(struct pp_space *s, const struct pp_change *ended)
{
	unsigned int i;

	for (i = 0; i < s->count; i++)
		if (!memcmp(&s->changes[i], ended, sizeof(*ended))) {
			s->changes[i] = s->changes[--s->count];
			return true;
		}
	s->more--;
	return false;
}

static bool change_overlaps(const struct pp_change *c, const struct interval_tree_node *range)
{
	return c->start <= range->last && c->end > range->start;
}

static bool space_is_changing(const struct pp_space *s, const struct interval_tree_node *range)
{
	unsigned int i;

	for (i = 0; i < s->count; i++)
		if (change_overlaps(&s->changes[i], range))
			return true;
	return s->more;
}

/*
 * While @more counts a change, a watch of any range has to wait. If many threads change pages all the time, @more would
 * never fall to 0. So a watch that waits makes room: changes that begin later are listed, and @more falls to 0 when
 * those that it counts have ended. The MMU notifier cannot make room, because it must not allocate.
 * False: no memory, or the list has its maximum length.
 */
static bool space_make_room(struct pp_space *s)
{
	unsigned int room = 2 * (READ_ONCE(s->room) + READ_ONCE(s->more));
	struct pp_change *list;

	if (room > SPACE_CHANGES_MAX)
		return false;
	list = kvmalloc_array(room, sizeof(*list), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!list)
		return false;
	spin_lock(&s->changed.lock);
	if (s->room < room) {
		memcpy(list, s->changes, s->count * sizeof(*list));
		swap(s->changes, list);
		WRITE_ONCE(s->room, room);
		s->full = false;
	}
	spin_unlock(&s->changed.lock);
	if (list != s->first)
		kvfree(list);
	return true;
}

/* ---- a watch that waits ---------------------------------------------------------------- */

struct space_waiter {
	struct wait_queue_entry wait;
	const struct interval_tree_node *range;
};

/*
 * @key: the change that has ended, or NULL: a change that was not listed. Does not wake threads that wait for other
 * ranges, because a process can have hundreds of waiting threads.
 */
static int space_wake(struct wait_queue_entry *wait, unsigned int mode, int sync, void *key)
{
	struct space_waiter *w = container_of(wait, struct space_waiter, wait);

	return key && !change_overlaps(key, w->range) ? 0 : default_wake_function(wait, mode, sync, NULL);
}

/* Waits until no page of @range is changing. -EINTR: a signal arrived before */
static int space_await_locked(struct pp_space *s, const struct interval_tree_node *range)
	__must_hold(&s->changed.lock)
{
	struct space_waiter w = { .range = range };
	bool may_grow = true;
	int ret = 0;

	init_waitqueue_func_entry(&w.wait, space_wake);
	w.wait.private = current;
	__add_wait_queue(&s->changed, &w.wait);
	while (space_is_changing(s, range)) {
		if (may_grow && s->full) {
			spin_unlock(&s->changed.lock);
			may_grow = space_make_room(s);
			spin_lock(&s->changed.lock);
			continue;
		}
		if (signal_pending(current)) {
			ret = -EINTR;
			break;
		}
		set_current_state(TASK_INTERRUPTIBLE);
		spin_unlock(&s->changed.lock);
		schedule();
		spin_lock(&s->changed.lock);
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

static int space_range_start(struct mmu_notifier *n, const struct mmu_notifier_range *range)
{
	struct pp_space *s = space_of(n);

	if (!replaces_pages(range))
		return 0;
	spin_lock(&s->changed.lock);
	change_begin_locked(s, range);
	space_end_locked(s, range->start, range->end - 1, mmu_notifier_range_blockable(range), WATCH_CHANGED);
	spin_unlock(&s->changed.lock);
	return 0;
}

static void space_range_end(struct mmu_notifier *n, const struct mmu_notifier_range *range)
{
	struct pp_change change = { range->start, range->end, current };
	struct pp_space *s = space_of(n);
	bool listed;

	if (!replaces_pages(range))
		return;
	spin_lock(&s->changed.lock);
	listed = change_end_locked(s, &change);
	if (waitqueue_active(&s->changed))
		__wake_up_locked_key(&s->changed, TASK_INTERRUPTIBLE, listed ? &change : NULL);
	spin_unlock(&s->changed.lock);
}

/* exit(), or exec(): the last user of the address space is gone. */
static void space_release(struct mmu_notifier *n, struct mm_struct *mm)
{
	struct pp_space *s = space_of(n);

	spin_lock(&s->changed.lock);
	space_end_locked(s, 0, ULONG_MAX, true, WATCH_UNWATCHED);
	spin_unlock(&s->changed.lock);
}

/* Number of spaces that are not freed */
static atomic_t spaces = ATOMIC_INIT(0);

static struct mmu_notifier *space_alloc(struct mm_struct *mm)
{
	struct pp_space *s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);

	if (!s)
		return ERR_PTR(-ENOMEM);
	init_waitqueue_head(&s->changed);
	s->watches = RB_ROOT_CACHED;
	s->changes = s->first;
	s->room = SPACE_CHANGES;
	atomic_inc(&spaces);
	return &s->notifier;
}

static void space_free(struct mmu_notifier *n)
{
	struct pp_space *s = space_of(n);

	if (s->changes != s->first)
		kvfree(s->changes);
	kfree(s);
	if (atomic_dec_and_test(&spaces))
		wake_up_var(&spaces);
}

static const struct mmu_notifier_ops space_ops = {
	.invalidate_range_start = space_range_start,
	.invalidate_range_end = space_range_end,
	.release = space_release,
	.alloc_notifier = space_alloc,
	.free_notifier = space_free,
};

/* ---- for the file ------------------------------------------------------------------------ */

struct pp_space *pp_space_get(void)
{
	struct mmu_notifier *n = mmu_notifier_get(&space_ops, current->mm);

	return IS_ERR(n) ? ERR_CAST(n) : space_of(n);
}

/* A notifier may be running, so the space is freed later. */
void pp_space_put(struct pp_space *s)
{
	mmu_notifier_put(&s->notifier);
}

/* The notifier holds a reference to its mm, so no other mm has the same address. */
bool pp_space_is(const struct pp_space *s, const struct mm_struct *mm)
{
	return s->notifier.mm == mm;
}

int pp_space_watch(struct pp_space *s, struct pp_watch *w, u32 *epoch)
{
	int ret;

	spin_lock(&s->changed.lock);
	ret = space_await_locked(s, &w->range);
	if (!ret) {
		*epoch = pp_epoch_begin(w->word);
		interval_tree_insert(&w->range, &s->watches);
		pp_count(watches);
	}
	spin_unlock(&s->changed.lock);
	return ret;
}

void pp_space_unwatch(struct pp_space *s, struct pp_watch *w)
{
	spin_lock(&s->changed.lock);
	if (!RB_EMPTY_NODE(&w->range.rb))
		watch_end_locked(s, w, WATCH_UNWATCHED);
	spin_unlock(&s->changed.lock);
}

/*
 * mmu_notifier_synchronize() waits for a grace period of SRCU, but not for the callbacks of other processors, which
 * call space_free(). So wait for the last space. Its callback may not have returned from space_free() yet. Callbacks
 * run with softirqs off, and synchronize_rcu() waits for such code.
 */
void pp_space_exit(void)
{
	wait_var_event(&spaces, !atomic_read(&spaces));
	synchronize_rcu();
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The changes of pages that are in progress in an address space. The caller has a lock, which it holds in all functions
 * but pp_changes_grow() and pp_changes_free(). Under the lock nothing is allocated, because the MMU notifier holds it.
 */
#ifndef _PEERPIN_CHANGES_H
#define _PEERPIN_CHANGES_H

#include <linux/spinlock.h>
#include <linux/types.h>

struct task_struct;

enum {
	PP_CHANGES_FIRST = 32,	/* initial room; a waiting thread makes more room if it is full */
	PP_CHANGES_BITS = 6,	/* buckets, as a power of two */
};

/**
 * struct pp_change - pages that a thread is changing, from invalidate_range_start() to invalidate_range_end()
 * @start, @end: the range, without @end
 * @number: the first change of an address space has number 1; 0: not in use
 * @by: the thread, only compared
 * @next: place of the next change in the bucket of @by, or of the next one that is not in use
 * @keeps_pinned: pinned pages stay
 */
struct pp_change {
	unsigned long start;
	unsigned long end;
	u64 number;
	const struct task_struct *by;
	u32 next;
	bool keeps_pinned;
};

/**
 * struct pp_changes - the changes in progress
 * @begun: number of changes that have begun
 * @list: changes in progress, and elements that are not in use. The place of an element is its index + 1; 0 is the
 *	end of a list
 * @ever: number of elements of @list that were in use since it was empty
 * @room: number of elements for which @list has memory
 * @unused: place of the first element that is not in use
 * @count: number of elements in use
 * @more: number of changes that had no room in @list; they may be of any range
 * @full: a change had no room, and no thread has made room since
 * @buckets: changes by thread, because hundreds of threads can change pages at the same time
 * @first: the initial @list
 */
struct pp_changes {
	u64 begun;
	struct pp_change *list;
	u32 ever;
	u32 room;
	u32 unused;
	u32 count;
	u32 more;
	bool full;
	u32 buckets[1 << PP_CHANGES_BITS];
	struct pp_change first[PP_CHANGES_FIRST];
};

/* @c is zeroed */
void pp_changes_init(struct pp_changes *c);
void pp_changes_free(struct pp_changes *c);

/* the current thread begins to change pages; @keeps_pinned: pinned pages stay */
void pp_change_begin(struct pp_changes *c, unsigned long start, unsigned long end, bool keeps_pinned);

/* the current thread has changed the pages of @ended. True: the change was listed. False: it was counted in @more */
bool pp_change_end(struct pp_changes *c, const struct pp_change *ended);

/* May the change replace a page of the range? @last: the last byte; @pinned: the pages are pinned */
static inline bool pp_change_concerns(const struct pp_change *c, unsigned long start, unsigned long last, bool pinned)
{
	return c->start <= last && c->end > start && !(c->keeps_pinned && pinned);
}

/* the number of the last of the listed changes that concern the range, or 0 */
u64 pp_changes_last(const struct pp_changes *c, unsigned long start, unsigned long last, bool pinned);

/*
 * Make room in the list. @lock: the caller's lock, which it does not hold; sleeps. False: no memory, or the list has its
 * maximum length.
 */
bool pp_changes_grow(struct pp_changes *c, spinlock_t *lock);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ranges of an address space. An MMU notifier ends a range before a page of the range can be replaced
 * by another page. Watches and pins of host memory are such ranges.
 */
#ifndef _PEERPIN_SPACE_H
#define _PEERPIN_SPACE_H

#include <linux/interval_tree.h>
#include <linux/rbtree.h>
#include <linux/types.h>

struct mm_struct;
struct pp_space;
struct pp_space_range;

/**
 * struct pp_space_ops - what the ranges of one kind do
 * @pinned: the pages are pinned, so MMU_NOTIFY_MIGRATE and MMU_NOTIFY_EXCLUSIVE do not end the range. At
 *	most one kind for each value, because @most counts the ranges with the same value
 * @most: the space has at most this many ranges of the kind; 0: no limit
 * @end: the range has left the space. @changed: a page is about to be replaced; false: the address space
 *	ends, or pp_space_end() was called. Called under the lock of the space. The MMU notifier calls it perhaps
 *	under mmap_lock, i_mmap_rwsem or a page lock, in memory reclaim too: must not sleep or allocate
 */
struct pp_space_ops {
	bool pinned;
	unsigned int most;
	void (*end)(struct pp_space_range *range, bool changed);
};

/**
 * struct pp_space_range - a range of an address space
 * @node: first and last byte; entry in a tree of the space until the range ends
 * @ops: its kind
 */
struct pp_space_range {
	struct interval_tree_node node;
	const struct pp_space_ops *ops;
};

/* @last: the last byte */
static inline void pp_space_range_init(struct pp_space_range *range, unsigned long start, unsigned long last,
				       const struct pp_space_ops *ops)
{
	range->node.start = start;
	range->node.last = last;
	range->ops = ops;
	RB_CLEAR_NODE(&range->node.rb);
}

static inline u64 pp_space_range_bytes(const struct pp_space_range *range)
{
	return range->node.last - range->node.start + 1;
}

/**
 * pp_space_get() - the space of current->mm
 *
 * The first call for an address space takes mmap_lock and all locks of its mappings. The space then stays until the
 * address space ends, and later calls take no lock.
 *
 * Context: process, without mmap_lock. Return: the space with a reference; ERR_PTR(-ENOMEM), or
 * -EINTR after a fatal signal; while the locks are taken, also if the process is stopped, traced or frozen, or gets
 * task work (io_uring).
 */
struct pp_space *pp_space_get(void);

/* drop a reference; none of the caller's ranges is left in the space. Any context but interrupts */
void pp_space_put(struct pp_space *space);

/* Is it the space of @mm? */
bool pp_space_is(const struct pp_space *space, const struct mm_struct *mm);

/**
 * pp_space_add() - put a range into the space
 * @range: was initialised, and is not in the space
 *
 * Waits for changes of the range that are in progress. @end may run before this function returns.
 *
 * Context: process, without mmap_lock. Return: 0; -EDQUOT if the space has @most ranges of the kind; -EINTR if a signal
 * arrived; -ESTALE if another change began during the wait: the caller may try again.
 */
int pp_space_add(struct pp_space *space, struct pp_space_range *range);

/*
 * Both remove a range that has been added and has not ended; otherwise they do nothing. Neither waits for changes, and
 * after the return the space does not access @range. If pp_space_end() removes the range, it calls @end before it
 * releases the lock. So when the MMU notifier does not find the range, @end has returned.
 */
void pp_space_remove(struct pp_space *space, struct pp_space_range *range);
void pp_space_end(struct pp_space *space, struct pp_space_range *range);

/* The module's init and exit. pp_space_exit() waits until all spaces are freed */
int pp_space_init(void);
void pp_space_exit(void);

#endif

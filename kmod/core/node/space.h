/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The watched ranges of an address space. An MMU notifier ends a watch, that is, makes its word in
 * the revocation page even, before a page of its range can be replaced by another page.
 */
#ifndef _PEERPIN_SPACE_H
#define _PEERPIN_SPACE_H

#include <linux/interval_tree.h>
#include <linux/mm_types.h>
#include <linux/types.h>

struct pp_account;
struct pp_space;

/**
 * struct pp_watch - a watched range
 * @range: first and last byte; entry in the tree of the space until the watch ends
 * @word: word in the revocation page
 * @account: account of the file, which has its own reference
 */
struct pp_watch {
	struct interval_tree_node range;
	u32 *word;
	struct pp_account *account;
};

static inline u64 pp_watch_bytes(const struct pp_watch *w)
{
	return w->range.last - w->range.start + 1;
}

/**
 * pp_space_get() - the space of current->mm
 *
 * Context: process, without mmap_lock. Return: the space with a reference; ERR_PTR(-ENOMEM), or
 * -EINTR if a signal arrived.
 */
struct pp_space *pp_space_get(void);

/* drop a reference; none of the caller's watches is left in the space. Process context */
void pp_space_put(struct pp_space *space);

/* Is it the space of @mm? */
bool pp_space_is(const struct pp_space *space, const struct mm_struct *mm);

/**
 * pp_space_watch() - begin a watch
 * @w: @range.start, @range.last, @word and @account are set
 * @epoch: set to the value of the word while the watch lives; may have changed before the return
 *
 * The account is charged already; the space uncharges it when the watch ends. Waits while another
 * thread changes pages of the range.
 *
 * Context: process, without mmap_lock. Return: 0, or -EINTR if a signal arrived.
 */
int pp_space_watch(struct pp_space *space, struct pp_watch *w, u32 *epoch);

/* End a watch that pp_space_watch() has begun, unless it has ended. The space does not access @w any more. */
void pp_space_unwatch(struct pp_space *space, struct pp_watch *w);

/* For the module's exit: wait until all spaces are freed and space_free() has returned. Sleeps */
void pp_space_exit(void);

#endif

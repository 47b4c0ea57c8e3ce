/* SPDX-License-Identifier: GPL-2.0 */
/* The watches of a file: their ids, and words in its revocation page. */
#ifndef _PEERPIN_WATCH_H
#define _PEERPIN_WATCH_H

#include <linux/types.h>
#include "../space/space.h"

struct peerpin_watch;
struct pp_account;
struct pp_file;

/**
 * struct pp_watch - a watched range
 * @range: whole pages
 * @word: word in the revocation page
 * @account: account of the file, which has its own reference
 */
struct pp_watch {
	struct pp_space_range range;
	u32 *word;
	struct pp_account *account;
};

/* the slab cache; the module's init and exit */
int pp_watch_init(void);
void pp_watch_exit(void);

/**
 * pp_watch_begin() - watch a range of current->mm
 * @c: the user's range; out_watch, out_slot and out_epoch are set, or on failure out_reason and
 *	its numbers
 *
 * Context: the process that opened the file. Return: the watch, which pp_watch_end() finds only
 * after pp_watch_publish(); or ERR_PTR.
 */
struct pp_watch *pp_watch_begin(struct pp_file *f, struct peerpin_watch *c);

/* from here on any thread may end @w by its id */
void pp_watch_publish(struct pp_file *f, u32 id, struct pp_watch *w);

/* end a watch that is not published, and free its id */
void pp_watch_drop(struct pp_file *f, u32 id, struct pp_watch *w);

/* end a published watch and free its id; -ENOENT: no such watch */
int pp_watch_end(struct pp_file *f, u32 id);

/* end all published watches; sleeps */
void pp_watch_end_all(struct pp_file *f);

/* the file's release: no watch is left */
void pp_watch_close(struct pp_file *f);

#endif

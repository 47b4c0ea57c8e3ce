/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stash: a cover (cover.h) over the memory of live pins. With a stash, a test detects writes by
 * processes without a right to that memory.
 */
#ifndef _EMUGPU_STASH_H
#define _EMUGPU_STASH_H

#include <linux/types.h>

/*
 * Covers the pinned memory of process @pid (0: of all processes). Skips pages with other users, as
 * in emugpu_cover_is_lent(). Errors: ESRCH: no such process; EBUSY: a stash exists already, or a
 * window is closed; ENODEV: a GPU is being removed; ENOMEM.
 */
int emugpu_stash_begin(u32 pid);

/*
 * Restores the contents. Sets *@changed to the number of pages written since emugpu_stash_begin().
 * Errors: ENOENT: no stash; EBUSY: a window is closed.
 */
int emugpu_stash_end(u32 *changed);

/* Deletes the stash at unload. */
void emugpu_stash_exit(void);

#endif

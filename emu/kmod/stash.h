/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stash: covers the memory of live pins for a while, so that a test detects
 * writes by processes without a right to that memory.
 */
#ifndef _EMUGPU_STASH_H
#define _EMUGPU_STASH_H

#include <linux/types.h>

/*
 * Covers the pinned memory of process @pid (0: of all processes), except pages that
 * others may write to. ESRCH: no such process; EBUSY: a stash exists already, or a
 * window is closed; ENOMEM; ENODEV: a GPU is being removed
 */
int emugpu_stash_begin(u32 pid);

/* Restores the contents; sets *@changed. ENOENT: no stash; EBUSY: a window is closed */
int emugpu_stash_end(u32 *changed);

/* Deletes the stash at unload. */
void emugpu_stash_exit(void);

#endif

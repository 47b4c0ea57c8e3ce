/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stash: what live pins hold is hidden for a while, so that a test sees
 * whether somebody who has no right to it writes there.
 */
#ifndef _EMUGPU_STASH_H
#define _EMUGPU_STASH_H

#include <linux/types.h>

/*
 * Hides what process number @pid has pinned, or all have for 0, but for what
 * others may write to. ESRCH: there is no such process; EBUSY: something is
 * hidden, or a window is closed; ENOMEM; ENODEV a GPU goes
 */
int emugpu_stash_begin(u32 pid);

/* Brings it back. ENOENT: nothing is hidden; EBUSY: a window is closed */
int emugpu_stash_end(u32 *changed);

/* At unload */
void emugpu_stash_exit(void);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The stash: what live pins hold is hidden for a while, so that a test sees
 * whether somebody who has no right to it writes there.
 */
#ifndef _EMUGPU_STASH_H
#define _EMUGPU_STASH_H

#include <linux/types.h>

struct emugpu_gpu;

/* Hides what the pins of @gpu hold. EBUSY: a GPU's is hidden, or the window is closed; ENOMEM; ENODEV gone */
int emugpu_stash_begin(struct emugpu_gpu *gpu);

/* Brings it back. ENOENT: nothing of @gpu is hidden; EBUSY: the window is closed */
int emugpu_stash_end(const struct emugpu_gpu *gpu, u32 *changed);

/* At unload */
void emugpu_stash_exit(void);

#endif

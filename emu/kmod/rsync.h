/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rsync calls: a platform driver says whether the bus may reorder what
 * GPUs write. The mode is asked for when the first client comes and given
 * back when the last one goes.
 */
#ifndef _EMUGPU_RSYNC_H
#define _EMUGPU_RSYNC_H

/* A client comes: 0 or what the rsync driver said; a client goes. */
int emugpu_rsync_use(void);
void emugpu_rsync_unuse(void);

/* The module of that name goes: forget its driver, which it should have unregistered. */
void emugpu_rsync_module_going(const char *module);

#endif

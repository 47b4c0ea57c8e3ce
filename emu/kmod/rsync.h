/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rsync functions: a platform driver reports whether the bus may reorder writes of
 * GPUs. The first client gets the mode from it, and the last client puts it back.
 */
#ifndef _EMUGPU_RSYNC_H
#define _EMUGPU_RSYNC_H

/* Called for each new client, returns 0 or the rsync driver's error; called for each closed client. */
int emugpu_rsync_use(void);
void emugpu_rsync_unuse(void);

/* @module is unloaded: forgets and reports an rsync driver that it has not unregistered. */
void emugpu_rsync_module_going(const char *module);

#endif

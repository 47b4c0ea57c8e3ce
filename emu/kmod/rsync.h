/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rsync: a platform driver reports whether the bus may reorder writes of GPUs (the relaxed ordering
 * mode). The first client gets the mode from this rsync driver. The last client puts the mode back.
 */
#ifndef _EMUGPU_RSYNC_H
#define _EMUGPU_RSYNC_H

/*
 * emugpu_rsync_use() is called for each new client, and returns 0 or the error of the rsync driver.
 * emugpu_rsync_unuse() is called for each closed client.
 */
int emugpu_rsync_use(void);
void emugpu_rsync_unuse(void);

/* Called when @module is unloaded. Reports and forgets an rsync driver that @module has not unregistered. */
void emugpu_rsync_module_going(const char *module);

#endif

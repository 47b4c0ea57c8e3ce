/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A GPU is removed, or its driver unbound, while its memory is pinned. Persistent pins and
 * dma-bufs of exporters that never call move_notify get no callback, so the core revokes them.
 */
#ifndef _PEERPIN_UNPLUG_H
#define _PEERPIN_UNPLUG_H

#include <linux/types.h>

struct peerpin_region;

/*
 * For a thread that pins memory, or maps memory by its provider: an unplug meanwhile does not find
 * the memory. So the thread calls pp_unplug_count() before. In the critical section of r->lock that
 * makes the region live or lists the mapping, it calls pp_unplug_missed() with the result. True: the
 * memory may be that of a removed device, so pin or attach must fail. False: a later unplug finds the
 * memory, because it takes r->lock after it has raised the count. The device may also be another one,
 * because the address of the memory is not compared.
 */
unsigned int pp_unplug_count(void);
bool pp_unplug_missed(const struct peerpin_region *r, unsigned int count);

int pp_unplug_init(void);
void pp_unplug_exit(void);

#endif

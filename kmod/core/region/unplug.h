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
 * An unplug does not find memory that is being pinned, or being mapped by its provider. So call
 * pp_unplug_count() before pin() or map(), and pp_unplug_missed() with the result in the critical section
 * of r->lock that makes the region live or lists the mapping. True: the memory may be that of a removed
 * device, so pin or attach must fail. False: a later unplug finds the memory, because it takes r->lock after
 * it has raised the count. The addresses are not compared, so the unbinding of any PCI device makes pin or
 * attach fail.
 */
unsigned int pp_unplug_count(void);
bool pp_unplug_missed(const struct peerpin_region *r, unsigned int count);

int pp_unplug_init(void);
void pp_unplug_exit(void);

#endif

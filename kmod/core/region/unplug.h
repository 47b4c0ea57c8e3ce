/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A GPU is removed, or its driver unbound, while its memory is pinned. Persistent pins and
 * dma-bufs of exporters that never call move_notify get no callback, so the core revokes them.
 */
#ifndef _PEERPIN_UNPLUG_H
#define _PEERPIN_UNPLUG_H

int pp_unplug_init(void);
void pp_unplug_exit(void);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * GPUs that go, by their driver's unbinding or out of the machine, while memory
 * of them is pinned: of pins that nothing calls back for, those that last and
 * dma-bufs of exporters that tell nobody.
 */
#ifndef _PEERPIN_UNPLUG_H
#define _PEERPIN_UNPLUG_H

int pp_unplug_init(void);
void pp_unplug_exit(void);

#endif

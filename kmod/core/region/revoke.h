/* SPDX-License-Identifier: GPL-2.0 */
/* The end of a region by its memory's owner is in provider.h; this is for the rest of the core. */
#ifndef _PEERPIN_REVOKE_H
#define _PEERPIN_REVOKE_H

#include <linux/types.h>

struct list_head;
struct peerpin_region;

/*
 * List @r in @going, with the caller's reference, because the device of its memory is removed.
 * False, without effect, if another thread has listed it. Process context.
 */
bool pp_region_list_going(struct peerpin_region *r, struct list_head *going);

/**
 * pp_region_withdraw_all() - revoke all memory of a device that is removed
 * @going: regions with a reference each, from pp_region_list_going(); empty afterwards
 *
 * As pp_revoke(), but for persistent pins too, and the caller holds no lock that a provider
 * takes. So it also waits for mappings that the provider undoes. All drivers are asked to stop
 * before the first region is waited for, and all regions share one drain_timeout_ms
 * for DMA, and another one for the mappings that providers undo.
 * Context: process, no locks. Return: false when an importer still has a mapping that it was
 * promised, or a provider has not undone a mapping in time.
 */
bool pp_region_withdraw_all(struct list_head *going);

/* wait for the threads that are inside pp_revoke(); pp_provider_unregister() calls it */
void pp_region_barrier(void);

#endif

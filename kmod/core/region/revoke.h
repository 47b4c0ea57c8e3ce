/* SPDX-License-Identifier: GPL-2.0 */
/* Revocation by the core itself; provider.h has the functions for providers. */
#ifndef _PEERPIN_REVOKE_H
#define _PEERPIN_REVOKE_H

#include <linux/types.h>

struct list_head;
struct peerpin_region;

/*
 * Add @r to @going, a list of regions whose device is removed; takes over the caller's reference.
 * False, without effect, if another thread has listed @r. Process context.
 */
bool pp_region_list_going(struct peerpin_region *r, struct list_head *going);

/**
 * pp_region_withdraw_all() - revoke all memory of a device that is removed
 * @going: regions with a reference each, from pp_region_list_going(); empty afterwards
 *
 * As pp_revoke(), with these differences:
 *	- Non-revocable memory (@lasting) is revoked too.
 *	- All drivers are asked to stop before the first wait.
 *	- All regions share one drain_timeout_ms for DMA.
 *	- Mappings that providers undo are waited for, within another drain_timeout_ms. So the
 *	  caller must hold no lock that a provider takes.
 * Context: process, no locks. Return: false if a held mapping is left, or if a provider has not
 * undone a mapping in time.
 */
bool pp_region_withdraw_all(struct list_head *going);

/* wait for the threads that are inside pp_revoke(); pp_provider_unregister() calls it */
void pp_region_barrier(void);

#endif

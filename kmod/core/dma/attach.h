/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An attachment: one region mapped for one peer. Each peerpin_attach() returns the same
 * attachment until the region or the peer ends. include/peerpin.h has the functions for drivers.
 *
 * Lock order: region->lock, then peer->lock. Both are spinlocks, taken with interrupts
 * off. attach.c holds no lock during DMA API calls or calls of a driver.
 */
#ifndef _PEERPIN_ATTACH_H
#define _PEERPIN_ATTACH_H

#include <linux/list.h>
#include <linux/workqueue.h>
#include "../../include/peerpin.h"
#include "../region/ref.h"
#include "map.h"

struct peerpin_region;
struct seq_file;

/**
 * struct peerpin_attach - one region mapped for one peer
 * @ref: references: one for both lists together, one for each peerpin_attach(), one for each
 *	DMA counted in @inflight. Spread only while listed; gathered by the thread that unlists
 * @region: the region; the attachment has a reference
 * @peer: the peer; the attachment has a reference
 * @in_region: entry in @region->attaches, under @region->lock; look-ups read the list under RCU
 * @listed: the attachment is in both lists, under @region->lock. Listed means mapped; the thread
 *	that unlists the attachment unmaps it
 * @in_peer: entry in @peer->attaches, under both locks; listed there exactly
 *	when listed in the region
 * @inflight: DMA begun and not ended, under @region->lock; all DMA counted in @many is one
 * @spread: DMA that begins is counted in @many, until the region ends or the peer is unregistered
 * @many: DMA in flight, counted by each processor alone
 * @turns: processors that begin DMA, before @spread; under @region->lock
 * @stopping: stop() was called or is about to be, under @region->lock
 * @map: bus addresses of the whole region
 * @provided: the provider's mapping, if only the provider can map the memory
 * @work: work item that undoes @provided: the provider's unmap() may take locks that the
 *	thread that drops the attachment holds. After the last put, attach_free_work() frees a large @map
 * @rcu: frees the structure, which look-ups may still read
 */
struct peerpin_attach {
	struct pp_ref ref;
	struct peerpin_region *region;
	struct peerpin_peer *peer;
	struct list_head in_region;
	struct list_head in_peer;
	unsigned int inflight;
	bool listed;
	bool stopping;
	bool spread;
	struct pp_turns turns;
	struct percpu_ref many;
	struct pp_map map;
	void *provided;
	struct work_struct work;
	struct rcu_head rcu;
};

/*
 * Call the driver's stop(), if DMA is in flight and stop() was not called before. Process context, no lock of
 * peerpin held. The same context as for pp_attach_drop() and pp_attach_is_idle()
 */
void pp_attach_stop(struct peerpin_attach *a);

/*
 * Unlist and unmap; no effect on an unlisted attachment. The caller holds a reference. A
 * work item undoes a provider's mapping: until then @region->mappings and the peer's @users
 * count the mapping.
 */
void pp_attach_drop(struct peerpin_attach *a);

/* is no DMA in flight? */
bool pp_attach_is_idle(struct peerpin_attach *a);

/* for end.c; process context, no lock held */
void pp_attach_stop_all(struct peerpin_region *r);
void pp_attach_name_busy(struct peerpin_region *r);
void pp_attach_drop_all(struct peerpin_region *r);

/* print the names of all devices that map @r, importers' devices too: "A,B", or "-" for none */
void pp_attach_show(struct peerpin_region *r, struct seq_file *m);
unsigned int pp_attach_count(struct peerpin_region *r);

/*
 * The physical address of the first byte of a provider-mapped region, taken from the mapping
 * for one device; 0: not mapped. Process context
 */
phys_addr_t pp_attach_phys(struct peerpin_region *r);

#endif

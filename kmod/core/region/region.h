/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A region: pinned memory, and the states through which it ends.
 *
 *	                          .----3----> DEFERRED ----5----.
 *	                          |              |              |
 *	PINNING --1--> LIVE --2--> ENDING -------|------5-------+--> ENDED
 *	   |                       |  ^          |              |      ^
 *	   |                       4  6          4              |      |
 *	   |                       v  |          |              |      |
 *	   |                       ORPHAN <------'              |      |
 *	   |                         '-----------------5--------'      |
 *	   '------------------------------2----------------------------'
 *
 *	1 pin_open() in pin.c: the provider has pinned the pages
 *	2 pp_region_end_locked() in region.c, for each entry point in end.h
 *	3 region_defer_locked() in revoke.c: the thread does not wait for DMA or a held mapping
 *	4 region_abandon() in close.c: the user is gone, but DMA or a held mapping is not
 *	5 region_take_pages() in end.c, region_to_unpin_locked() and region_part() in close.c; not
 *	  made where no other thread can see the region any more
 *	6 region_adopt() in close.c: @work finishes what the user has left
 *
 * Each move is a call of pp_region_move_locked() under r->lock. Move 2 kills the epoch word and
 * refuses new DMA in the same critical section. Then each thread that ends the region drains it,
 * unmaps it and gives the pages back (end.h). Several threads may do so at the same time; move 5
 * decides which of them gives the pages back.
 *
 * So if the GPU driver's free callback comes while a driver has DMA in flight: no DMA begins any
 * more; stop() asks the driver to end; the callback waits, at most drain_timeout_ms. If the DMA
 * is still in flight then, the driver is named in the log and its mapping is removed all the
 * same, because the GPU driver's lock is held and the memory is freed when the callback returns.
 * Then only an IOMMU stops DMA.
 *
 * Lock order: the reservation lock of an export, r->lock, a peer's lock. r->lock protects the
 * fields listed at @lock. No lock of peerpin is held around stop() of a driver or a call of a
 * provider, but r->lock around look(). doc/lifetimes.md has the argument.
 */
#ifndef _PEERPIN_REGION_H
#define _PEERPIN_REGION_H

#include <linux/jiffies.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "provider.h"

struct pp_account;
struct pp_cpumap;

enum pp_region_state {
	PP_PINNING,	/* the provider may be pinning; no page is ours yet */
	PP_LIVE,	/* can be mapped and used for DMA */
	PP_ENDING,	/* a thread is ending it and gives the pages back */
	PP_DEFERRED,	/* the end of the last DMA or held mapping queues @work, which goes on */
	PP_ORPHAN,	/* closed; @work or a revocation gives the pages back and destroys it */
	PP_ENDED,	/* the pages are not ours any more */
};

/* why it has left LIVE */
enum pp_region_cause {
	PP_CLOSED,	/* unpin, close of the file, exit, or a pin that failed */
	PP_REVOKED,	/* the owner of the memory has freed or moved it */
};

/**
 * struct peerpin_region - one pin
 * @ref: held by the pin (until its end is over; the tables rely on it), each lookup, attachment,
 *	export and CPU mapping, and by @stop_work and @work while they are queued
 * @cookie: its name in the cookie table
 * @lock: protects @state, @cause, @unmapping, @users, @inflight, @held, @mappings,
 *	@maps, @shares, @attaches, @exports, @going, @cpumap and the counts in the
 *	attachments listed there; taken in interrupts; only a peer's lock is inside it
 * @users: threads of the core that map, unmap, read the page table or @extents, serve a CPU
 *	fault, or release. A user does not wait for drivers or for DMA, and allocates no memory
 *	that might wait for them.
 * @inflight: DMA begun by drivers and not ended
 * @held: mappings of importers that cannot be invalidated
 * @mappings: attachments whose mapping the provider has still to undo, after they were unlisted
 * @maps: attachments and importers' mappings ever made; stops at U32_MAX
 * @shares: exports and their importers: bounded, because loops over them hold @lock
 * @idle: woken when @users, @inflight, @held or @mappings falls to 0
 * @cause: valid once @state is beyond LIVE; for people, and for unplug.c
 * @unmapping: region_unmap() has begun, perhaps with DMA in flight: the end of that DMA must not
 *	use the mapping
 * @stop_work: begins the end where the caller cannot wait: asks all users to stop, queues @work
 * @work: waits for them and ends the region
 * @attaches: struct peerpin_attach of each device it is mapped for
 * @exports: struct pp_export of each dma-buf made of it
 * @going: entry in the list of the thread that withdraws it
 * @cpumap: shared by the CPU mappings of it; NULL without any, and once ended
 * @epoch: its word in the revocation page; valid until the state has ended
 * @pin_epoch: the value of @epoch while the region lives
 * @own_epoch: the word of a region that a driver has made
 * @id: the region id in its file, plus 1, which gives the offset of its CPU mappings; 0 if a
 *	driver has made it
 * @account: of the process that pinned it
 * @charged: bytes accounted there and not given back
 * @extents: see extents.h
 * @since: when it was pinned (jiffies)
 * @priv: the provider's
 */
struct peerpin_region {
	struct kref ref;
	spinlock_t lock;
	wait_queue_head_t idle;
	struct list_head attaches;
	struct list_head exports;
	struct list_head going;
	enum pp_region_state state;
	enum pp_region_cause cause;
	bool unmapping;
	unsigned long cookie;
	unsigned int users;
	unsigned int inflight;
	unsigned int held;
	unsigned int mappings;
	unsigned int maps;
	unsigned int shares;
	struct work_struct stop_work;
	struct work_struct work;
	struct pp_cpumap *cpumap;
	const struct pp_provider *provider;
	u32 *epoch;
	u32 pin_epoch;
	u32 own_epoch;
	u32 caching;
	u32 id;
	struct pp_account *account;
	atomic64_t charged;
	struct pp_extents extents;
	u64 addr;
	u64 length;
	unsigned long since;
	void *priv[];
};

/*
 * Returns a region in state PINNING with one reference, or NULL. It takes a reference of
 * @account and, unless it returns NULL, takes over the caller's reference of @provider.
 */
struct peerpin_region *pp_region_alloc(const struct pp_provider *provider,
				       struct pp_account *account);

void pp_region_get(struct peerpin_region *r);
void pp_region_put(struct peerpin_region *r);	/* any context */

/**
 * pp_region_enter() - become a user (@users), which keeps the pages
 *
 * The caller must call pp_region_leave() soon, without waiting for a driver or for memory.
 * Context: any. Return: 0, or -ESTALE when the region is not LIVE.
 */
int pp_region_enter(struct peerpin_region *r);
void pp_region_leave(struct peerpin_region *r);

bool pp_region_is_live(struct peerpin_region *r);

/* read a count of @r under its lock; for waiting on @idle */
bool pp_region_is_zero(struct peerpin_region *r, const unsigned int *count);

/* the only way to change @state; under @lock */
static inline void pp_region_move_locked(struct peerpin_region *r, enum pp_region_state state)
{
	lockdep_assert_held(&r->lock);
	WRITE_ONCE(r->state, state);
}

/* leave PINNING or LIVE, and kill the epoch; true for the call that does. Under @lock */
bool pp_region_end_locked(struct peerpin_region *r, enum pp_region_cause cause);
void pp_region_end(struct peerpin_region *r, enum pp_region_cause cause);

/* count a mapping in @maps, which never falls: 0 means that nothing was ever mapped. Under @lock */
void pp_region_count_map_locked(struct peerpin_region *r);

/* give @charged back to the account; a second call does nothing */
void pp_region_uncharge(struct peerpin_region *r);

/* since it was pinned */
static inline u64 pp_region_age_ms(const struct peerpin_region *r)
{
	return jiffies64_to_msecs(jiffies - r->since);
}

/* jiffies until @deadline, 0 when it has passed */
static inline unsigned long pp_time_left(unsigned long deadline)
{
	long left = deadline - jiffies;

	return max(left, 0L);
}

/*
 * Workqueues. Each runs some hundred items at a time, so one user can occupy a queue as long as
 * its items wait. An item therefore never shares a queue with items that wait for more than it
 * does:
 *
 *	queue		waits for		does
 *	pp_wq		DMA, importers' fences	ends regions (@work)
 *	pp_stop_wq	stop() of drivers	asks drivers to stop, empties CPU mappings
 *						(@stop_work); ends regions that a provider maps
 *						after their last DMA (@work): an exporter waits
 *						for that with its lock held
 *	pp_tell_wq	invalidate_mappings()	tells importers; it has workers of its own (HIGHPRI)
 *	pp_lock_wq	a reservation lock,	tells importers where the lock is contended;
 *			without a bound		undoes mappings of a provider. No rescuer: it
 *						would wait for one lock after the other
 */
extern struct workqueue_struct *pp_wq;
extern struct workqueue_struct *pp_stop_wq;
extern struct workqueue_struct *pp_tell_wq;
extern struct workqueue_struct *pp_lock_wq;

int pp_region_init(void);
void pp_region_exit(void);

#endif

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
 *	3 region_defer_locked() in revoke.c: the revoking thread must not wait (any longer) for DMA
 *	  or a held mapping, and leaves the rest to @work
 *	4 region_abandon() in close.c: the region is closed, but its pages stay pinned for DMA, for
 *	  a held mapping, or because only the owner's process can unpin them
 *	5 region_take_pages() in end.c, region_to_unpin_locked() and region_part() in close.c.
 *	  Revocable memory: a closing thread with the only reference skips this move and frees the
 *	  region in state ENDING
 *	6 region_adopt() in close.c: @work becomes the closing thread of an orphan
 *
 * Each move is a call of pp_region_move_locked() under r->lock. The critical section of move 2
 * also makes the epoch word even and refuses new DMA. Then the region is drained and unmapped
 * (end.h). Several threads may do so at the same time. Move 5 selects the thread that gives the
 * pages back. Exception: release() and unpin() of revocable memory may both run (provider.h).
 *
 * Example: the GPU driver's free callback comes while a driver has DMA in flight.
 *	- No new DMA begins, and stop() asks the driver to end its DMA.
 *	- The callback waits for this DMA at most drain_timeout_ms.
 *	- If the DMA takes longer, the log names the driver, and its mapping is removed. The
 *	  callback cannot wait longer, because the GPU driver's lock is held. When the callback
 *	  returns, the memory is freed. Only an IOMMU stops the DMA then.
 *
 * Lock order: the reservation lock of an export, r->lock, a peer's lock. The MMU notifier of host
 * memory holds the lock of the space. Inside, it takes one lock at a time: host_pin's, that of the
 * table of cookies, r->lock. No lock of peerpin is held around stop() of a driver or a call of a provider. Exception:
 * r->lock is held around look(). doc/lifetimes.md has the argument.
 */
#ifndef _PEERPIN_REGION_H
#define _PEERPIN_REGION_H

#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "provider.h"
#include "ref.h"

struct pp_account;
struct pp_cpumap;

enum pp_region_state {
	PP_PINNING,	/* pin() has not finished; the core must not use the pages yet */
	PP_LIVE,	/* can be mapped and used for DMA */
	PP_ENDING,	/* a thread ends the region and will give the pages back */
	PP_DEFERRED,	/* revoked; @work gives the pages back after the last DMA or held mapping */
	PP_ORPHAN,	/* closed; @work or a revocation gives back the pages, frees the region */
	PP_ENDED,	/* the pages were given back, or a thread is giving them back */
};

/* why the region has ended */
enum pp_region_cause {
	PP_CLOSED,	/* unpin, close of the file, exit, or a pin that failed */
	PP_REVOKED,	/* the owner of the memory has freed or moved it */
};

/**
 * struct peerpin_region - one pin
 * @ref: references of the pin, of each lookup, attachment, export and CPU mapping, and of
 *	@stop_work and @work while queued. The pin's reference lasts until the region has left
 *	all tables. Spread only while the region is live; gathered by pp_region_end_locked()
 * @rcu: frees the structure, which look-ups without a lock may still read
 * @cookie: number by which the region is found (cookie.h)
 * @lock: protects @state, @cause, @unmapping, @users, @inflight, @gathering, @held, @mappings,
 *	@maps, @shares, @attaches, @exports, @going, @cpumap and the counts in the listed
 *	attachments. Taken in interrupts. The only lock of peerpin taken inside @lock is a
 *	peer's lock
 * @users: number of threads that map, unmap, read the page table or @extents, serve a CPU fault,
 *	empty CPU mappings or run release(). A user must not wait for stop(), DMA or memory;
 *	release() of host memory waits for page locks
 * @inflight: number of DMA transfers begun and not ended; all DMA counted in the @many of an
 *	attachment is one
 * @gathering: number of attachments with an unknown sum of @many, because processors still count
 *	it alone. Falls to 0 a grace period of RCU after the end of the region
 * @held: number of importers' mappings that the end of the region cannot remove
 * @mappings: number of unlisted attachments whose unmap() by the provider has not returned
 * @maps: number of attachments and importers' mappings made so far; stops at U32_MAX
 * @shares: number of exports and importers; bounded, because loops over exports hold @lock
 * @idle: wait queue, woken when @users, @inflight, @gathering, @held or @mappings falls to 0, and
 *	when an importer was notified or its mapping undone
 * @cause: why the region has ended; valid once @state is beyond LIVE
 * @spread: DMA was counted in the @many of an attachment
 * @unmapping: region_unmap() has begun; DMA that ends later must not use the mapping
 * @making: held by the thread that makes @extents, or maps them in peerpin_attach(). Without it, each of many
 *	threads would make a list and a mapping of its own. The holder calls the provider's extents() and
 *	the DMA API, and may wait for memory, not for a lock of another driver. No revocation takes @making;
 *	@lock is taken inside
 * @stop_work: work item of pp_revoke_soon(): asks drivers and importers to stop, and queues @work
 *	unless the provider maps the region
 * @work: work item that waits for DMA and importers, and ends the region
 * @attaches: list of struct peerpin_attach, one for each device that maps the region
 * @exports: list of struct pp_export, one for each dma-buf of the region
 * @going: entry in the list of pp_region_withdraw_all()
 * @cpumap: state that all CPU mappings of the region share; NULL before the first CPU mapping and
 *	after the end
 * @epoch: the epoch word: in the revocation page of the file, or @own_epoch; not used once @state
 *	is beyond LIVE
 * @pin_epoch: value of the epoch word while the region is live
 * @own_epoch: epoch word of a region that a driver has pinned
 * @id: region id in its file + 1, for the offset of CPU mappings; 0 if a driver pinned the region
 * @account: account of the process that pinned the region
 * @charged: bytes charged to @account and not given back
 * @extents: list of the physical extents (extents.h)
 * @since: time of the pin (jiffies)
 * @priv: private memory of the provider
 */
struct peerpin_region {
	struct pp_ref ref;
	struct rcu_head rcu;
	spinlock_t lock;
	wait_queue_head_t idle;
	struct mutex making;
	struct list_head attaches;
	struct list_head exports;
	struct list_head going;
	enum pp_region_state state;
	enum pp_region_cause cause;
	bool unmapping;
	bool spread;
	unsigned long cookie;
	unsigned int users;
	unsigned int inflight;
	unsigned int gathering;
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
 * Returns a region in state PINNING with one reference, or NULL. The region gets a new reference
 * on @account and takes over the caller's reference on @provider. On NULL the caller keeps both.
 */
struct peerpin_region *pp_region_alloc(const struct pp_provider *provider,
				       struct pp_account *account);

/* any context */
void pp_region_get(struct peerpin_region *r);
void pp_region_put(struct peerpin_region *r);

/* take a reference of a region found under RCU; false: the region is being freed, or has ended */
bool pp_region_tryget(struct peerpin_region *r);

/* for look-ups that a driver may make for each transfer: spread @ref if processors take turns. Process context */
void pp_region_note_lookup(struct peerpin_region *r);

/**
 * pp_region_enter() - become a user: count the caller in @users, so that the pages stay
 *
 * The caller must call pp_region_leave() soon, without waiting for a driver or for memory.
 * Context: any. Return: 0, or -ESTALE if the region is not LIVE.
 */
int pp_region_enter(struct peerpin_region *r);
void pp_region_leave(struct peerpin_region *r);

bool pp_region_is_live(struct peerpin_region *r);

/* is @count, a field of @r, 0? Takes the lock; a condition for waiting on @idle. Process context */
bool pp_region_is_zero(struct peerpin_region *r, const unsigned int *count);

/* the only way to change @state; under @lock */
static inline void pp_region_move_locked(struct peerpin_region *r, enum pp_region_state state)
{
	lockdep_assert_held(&r->lock);
	WRITE_ONCE(r->state, state);
}

/* Leave PINNING or LIVE, and make the epoch word even. False if @r has ended before. Under @lock */
bool pp_region_end_locked(struct peerpin_region *r, enum pp_region_cause cause);
/* the same, takes the lock; process context */
void pp_region_end(struct peerpin_region *r, enum pp_region_cause cause);

/* Count a mapping in @maps. This count never falls: 0 means never mapped. Under @lock */
void pp_region_count_map_locked(struct peerpin_region *r);

/* give @charged back to the account; a second call does nothing */
void pp_region_uncharge(struct peerpin_region *r);

/* time since the pin */
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
 * Workqueues. Each queue runs at least 512 items at a time: before Linux 6.9 on each NUMA node, since then on all
 * nodes together, divided by their processors. So the waiting items of one process can occupy a queue. Therefore
 * items that wait longer have a queue of their own:
 *
 *	queue		waits for		does
 *	pp_wq		DMA, importers' fences	ends regions (@work); frees large tables of
 *						attachments
 *	pp_stop_wq	stop() of drivers	asks drivers to stop, empties CPU mappings
 *						(@stop_work); ends provider-mapped regions after
 *						their last DMA (@work), while an exporter may
 *						wait with its lock held
 *	pp_tell_wq	invalidate_mappings()	notifies importers; has its own workers (HIGHPRI)
 *	pp_lock_wq	a reservation lock,	notifies importers if the lock is contended;
 *			without a bound		undoes a provider's mappings. No rescuer: a rescuer
 *						would wait for one lock after the other
 */
extern struct workqueue_struct *pp_wq;
extern struct workqueue_struct *pp_stop_wq;
extern struct workqueue_struct *pp_tell_wq;
extern struct workqueue_struct *pp_lock_wq;

int pp_region_init(void);
void pp_region_exit(void);

#endif

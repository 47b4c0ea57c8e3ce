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
 *	3 region_defer() and pp_revoke_soon() in revoke.c: the thread cannot wait for DMA
 *	4 region_abandon() in close.c: the user is gone, DMA or a held mapping is not
 *	5 region_take_pages() in end.c, region_to_unpin_locked() and region_part() in close.c
 *	6 region_adopt() in close.c: @work finishes what the user has left
 *
 * Every move is a call of pp_region_move_locked() under region->lock. Move 2 kills the epoch word and
 * refuses new DMA in the same critical section. After it each thread that ends the region drains it,
 * unmaps it and then gives the pages back (end.h). Several threads may do this at the same time. The
 * thread that makes move 5 gives the pages back. doc/lifetimes.md has the argument.
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
	PP_ORPHAN,	/* closed; @work or the owner's revocation gives the pages back and destroys it */
	PP_ENDED,	/* the pages are not ours any more */
};

/* why it has left LIVE */
enum pp_region_cause {
	PP_CLOSED,	/* unpin, close of the file, exit, or a pin that failed */
	PP_REVOKED,	/* the owner of the memory has freed or moved it */
};

/**
 * struct peerpin_region - one pin
 * @ref: the pin (until its end is over; by it the tables hold the region), each
 *	lookup, attachment, export and view of the CPU, and each of @stop_work and
 *	@work while queued hold one
 * @cookie: its name in the cookie table
 * @lock: protects @state, @cause, @unmapping, @users, @inflight, @held, @mappings,
 *	@maps, @shares, @attaches, @exports, @going, @cpumap and the counts in the
 *	attachments listed there; taken in interrupts; only a peer's lock is inside it
 * @users: the core's own: maps and unmaps in progress, reading the page table
 *	or @extents, CPU faults, releasing. They wait for nobody and allocate no
 *	memory that could.
 * @inflight: DMA begun by drivers and not ended
 * @held: mappings of importers that cannot be told to let go
 * @mappings: attachments that the provider has mapped and not unmapped
 * @maps: attachments ever listed, as far as it counts
 * @shares: exports and their importers, each of which is looked at under @lock
 * @idle: woken when @users, @inflight, @held or @mappings falls to 0
 * @cause: valid once @state is beyond LIVE; for people, and for unplug.c
 * @unmapping: pp_region_unmap() has begun, perhaps with DMA in flight: the end of that DMA
 *	must not use the mapping
 * @stop_work: begins its end where waiting for drivers is not possible: asks all
 *	to let go, and queues @work
 * @work: waits for them, and ends it
 * @attaches: struct peerpin_attach of each device it is mapped for
 * @exports: struct pp_export of each dma-buf made of it
 * @going: in the list of the thread that withdraws it; listed under @lock
 * @cpumap: what the CPU's views of it share; NULL without any, and once ended
 * @epoch: its word in the revocation page; valid until the state has ended
 * @pin_epoch: what it says while the region lives
 * @own_epoch: the word of a region that no file knows
 * @id: region id in its file + 1, which gives the offset of its views; 0: a driver's region
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

/**
 * pp_region_check() - is this something to pin at all?
 *
 * Arguments as in struct peerpin_pin. Context: any.
 * Return: 0; -EINVAL an empty or overflowing range, no such provider, or @fd
 * without a dma-buf; -EOPNOTSUPP an unknown flag.
 */
int pp_region_check(u64 addr, u64 length, u32 provider, u32 flags, int fd);

/**
 * pp_region_pin() - make a region
 * @provider: enum peerpin_provider; AUTO: the first whose memory it is
 * @flags: enum peerpin_pin_flags
 * @want: the range as the user gave it, checked for overflow; not yet rounded
 * @account: of the calling process; the region takes its own hold
 * @epoch: dead word, made live here; NULL: the region's own
 * @why: filled in on failure
 *
 * Context: process. Return: the region, to be ended with pp_region_close(), or
 * ERR_PTR with @epoch dead again: -EOPNOTSUPP no provider is loaded that makes
 * such pins, or as struct peerpin_pin says.
 */
struct peerpin_region *pp_region_pin(u32 provider, u32 flags,
				     const struct pp_request *want,
				     struct pp_account *account, u32 *epoch,
				     struct pp_why *why);

/**
 * pp_region_close() - end a region and give its pages back
 *
 * Once, and nobody uses it by what pp_region_pin() returned afterwards. Waits
 * for DMA in flight, but not for a driver that does not end it, nor for an
 * importer that was told the pages stay: then, and where the pages can be given
 * back in their owner's process only, they stay pinned until that has ended or
 * their owner revokes them.
 * Context: process, no locks.
 */
void pp_region_close(struct peerpin_region *r);

/* ---- for the rest of the core ------------------------------------------------ */

/*
 * A region that is not pinned yet, with one reference; or NULL. It has a hold of
 * its own on @account, and takes over the caller's on @provider.
 */
struct peerpin_region *pp_region_alloc(const struct pp_provider *provider,
				       struct pp_account *account);

void pp_region_get(struct peerpin_region *r);
void pp_region_put(struct peerpin_region *r);	/* any context */

/**
 * pp_region_enter() - become a user, which keeps the pages
 *
 * Of one that lives: what is still being pinned has no page table to look at.
 * Return: 0, to be undone by pp_region_leave() soon and without waiting for a
 * driver, a provider or memory, or -ESTALE. Any context.
 */
int pp_region_enter(struct peerpin_region *r);
void pp_region_leave(struct peerpin_region *r);

bool pp_region_is_live(struct peerpin_region *r);

/* is a count of @r that its lock protects 0? for waiting on @idle */
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

/* @inflight or @held has fallen to 0; under @lock, any context */
void pp_region_idle_locked(struct peerpin_region *r);

/*
 * One more is mapped. Never 0 again: by that the usual unpin knows that nobody
 * can be using it. Under @lock.
 */
void pp_region_count_map_locked(struct peerpin_region *r);

/* give up @charged; again does nothing */
void pp_region_uncharge(struct peerpin_region *r);

/*
 * The device that @r's memory is in goes: list it in @going, with the caller's
 * reference. False, and nothing, when another thread does. Process context.
 */
bool pp_region_list_going(struct peerpin_region *r, struct list_head *going);

/**
 * pp_region_withdraw_all() - the device that the memory of many is in goes
 * @going: regions with a reference each, by pp_region_list_going(); empty then
 *
 * As pp_revoke(), of lasting memory too, but by one who holds nothing that a
 * provider takes: so it waits for mappings of the provider's making as well. All
 * drivers are asked to stop before the first is waited for, and all are waited
 * for together: the time that an endless DMA takes does not grow with regions.
 * Context: process, no locks. Return: false when an importer still has a
 * mapping, as it was promised, or a provider has not undone one in time.
 */
bool pp_region_withdraw_all(struct list_head *going);

/* the work functions of @stop_work and @work, in close.c */
void pp_region_stop_work(struct work_struct *work);
void pp_region_work(struct work_struct *work);

/* waits for those inside pp_revoke(); from unregistering a provider */
void pp_region_barrier(void);

/* how long it has been pinned, to a tick */
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
 * its items wait. An item therefore never shares a queue with items that wait for more than it does:
 *
 *	queue		waits for			does
 *	pp_wq		DMA, importers' fences		ends regions (@work)
 *	pp_stop_wq	stop() of drivers		asks drivers to stop, empties CPU mappings (@stop_work);
 *							ends provider-mapped regions after their last DMA (@work):
 *							an exporter waits for that with its reservation lock held
 *	pp_tell_wq	invalidate_mappings()		invalidates importers' mappings; has workers of its own
 *	pp_lock_wq	a reservation lock, for ever	the same where the lock is contended; undoes mappings
 *							of a provider. It has no rescuer, which would take
 *							several items and wait for one lock after the other
 */
extern struct workqueue_struct *pp_wq;
extern struct workqueue_struct *pp_stop_wq;
extern struct workqueue_struct *pp_tell_wq;
extern struct workqueue_struct *pp_lock_wq;

int pp_region_init(void);
void pp_region_exit(void);

#endif

// SPDX-License-Identifier: MIT
/*
 * The registration cache.
 *
 * An entry is one registered range. The index holds entries that do not
 * overlap; an entry leaves it when it is evicted, invalidated, found revoked
 * or replaced by a wider one, and is unpinned when the last user has put it.
 *
 *	pending --pin ok--> in use <--get/put--> idle (in the LRU list)
 *	   |                  |                    |
 *	   v pin failed       v detached, last put v detached
 *	 freed              doomed --------------> doomed --unpin--> freed
 *
 * Invariants, under @lock:
 * I1 an entry in the index is pending, in use (users > 0) or in the LRU list,
 *    and in the last only when users == 0;
 * I2 an entry outside the index is reachable by its users only, or doomed;
 * I3 one thread makes an entry pending, and only it ends that state;
 * I4 one thread takes an entry to doomed (it holds the lock and finds
 *    users == 0), and that thread alone unpins it.
 *
 * G1 (get never returns what was freed before the call began). Each hit asks
 * @valid *after* the look-up, so after the call began; a free before that has
 * changed the epoch word, and the entry is dropped. A miss pins within the
 * call. An entry that another thread had pending is looked up again once it
 * is there, and asked like any other. Where there is no @valid, the caller of
 * pp_cache_invalidate() takes its place: it detaches pending entries as well,
 * so that a pin begun before the free is used by its own caller at most.
 *
 * G3 (budget). An entry counts from before its pin until it is doomed, and
 * what is doomed is waited for before a pin that would exceed the budget with
 * it. Whenever entries are added or become idle, idle ones are doomed, oldest
 * first, until the budget holds or none is idle. When a pin fails for want of
 * room, one idle entry at a time goes, of those that were idle then; what
 * became idle later is another thread's working set, and a get that can never
 * succeed would empty it over and over. When none is left, what is on its way
 * out by then is waited for and, if anything went, one attempt more is made. So
 * a failure is reported after a bounded number of attempts, the last of them
 * with all gone that had been idle or doomed at the first shortage.
 *
 * G4 (sub-ranges hit, overlaps merge). @grow says whether what it returns is
 * a whole allocation. If so, what overlaps it without covering what is wanted
 * is older than the allocation, or a narrower pin of it: it is replaced, and
 * never merged, because an entry across two allocations would outlive one of
 * them unnoticed. If not (host memory), the union is registered; should that
 * fail, since part of it may be unmapped by now, just the range itself is.
 *
 * The key of an entry is what was asked for or grown, never what the pin
 * rounded that to. Small GPU allocations share blocks and so 64 KiB pages: by
 * rounded extents a neighbour would hit, and its pages would be the right
 * ones even after it was freed and allocated anew, for they stay with the
 * block. But SYNC_MEMOPS belongs to the allocation and would never have been
 * set on it, and that it was freed would not be noticed, as freeing it
 * revokes nothing. So each allocation has an entry of its own; the GPU driver
 * shares the BAR1 space of the common page.
 *
 * G5 (every pin is unpinned once): I3 and I4.
 *
 * Locks: callbacks run without @lock, so a slow pin delays only those who want
 * a range that overlaps it; they wait on @changed. A get() holds no entry
 * while it waits, and a pin or unpin in progress waits for no cache user.
 */
#include <pthread.h>
#include <stdlib.h>
#include "entry.h"
#include "miss.h"
#include "process.h"
#include "regcache.h"
#include "room.h"
#include "sys.h"
#include "why.h"

static bool foreign(const struct pp_cache *c)
{
	return c->mark != pp_process_mark();
}

/* Waits for a pending entry in the way. @lock is held. */
static struct pp_entry *look_up(struct pp_cache *c,
				const struct pp_range *asked)
{
	struct pp_entry *e;

	while ((e = pp_entry_of(pp_index_first(&c->index, asked))) && e->pending)
		pthread_cond_wait(&c->changed, &c->lock);
	if (!e || !pp_range_covers(&e->range, asked))
		return NULL;
	pp_entry_use(c, e);
	c->stats.hits++;
	return e;
}

static bool is_valid(struct pp_cache *c, struct pp_entry *e)
{
	return !c->ops.valid || c->ops.valid(c->arg, e->pub.reg);
}

/* A hit that turned out to be none. */
static void drop_revoked(struct pp_cache *c, struct pp_entry *e)
{
	struct pp_entries doomed = TAILQ_HEAD_INITIALIZER(doomed);

	pthread_mutex_lock(&c->lock);
	c->stats.hits--;
	if (e->indexed) {
		c->stats.revocations++;
		pp_entry_detach(c, e, &doomed);
	}
	pp_entry_unuse(c, e, &doomed);
	pthread_mutex_unlock(&c->lock);
	pp_entries_unpin(c, &doomed);
}

/* NULL: a miss. */
static struct pp_entry *hit(struct pp_cache *c,
			    const struct pp_range *asked, bool *revoked)
{
	struct pp_entry *e;

	for (;;) {
		pthread_mutex_lock(&c->lock);
		e = look_up(c, asked);
		pthread_mutex_unlock(&c->lock);
		if (!e || is_valid(c, e))
			return e;
		*revoked = true;
		drop_revoked(c, e);
	}
}

static int get(struct pp_cache *c, const struct pp_range *asked,
	       struct pp_entry **out, struct pp_cache_work *work,
	       struct pp_why *why)
{
	bool revoked = false;
	int ret;

	do {
		*out = hit(c, asked, &revoked);
		if (*out)
			return 0;
		ret = pp_miss(c, asked, out, work, why);
	} while (ret == 1);
	/* it was registered once and nobody owns it now: freed */
	return ret == -EINVAL && revoked ? -ESTALE : ret;
}

int pp_cache_get_counted(struct pp_cache *cache, uint64_t addr,
			 uint64_t length, const struct pp_cache_entry **out,
			 struct pp_cache_work *work, struct pp_why *why)
{
	struct pp_range asked = { addr, addr + length };
	struct pp_entry *e;
	int ret;

	*why = (struct pp_why){ 0 };
	if (foreign(cache))
		return pp_refuse(why, PEERPIN_REASON_NOT_OWNED, -EACCES);
	if (!length || asked.end < asked.start)
		return -EINVAL;
	ret = get(cache, &asked, &e, work, why);
	if (!ret)
		*out = &e->pub;
	else if (cache->ctx)
		pp_why_room(why, (const void *)(uintptr_t)addr);
	return ret;
}

PP_PUBLIC int pp_cache_get(struct pp_cache *cache, const void *addr,
			   size_t length, const struct pp_cache_entry **out,
			   struct pp_why *why)
{
	PP_KEEP_ERRNO;
	struct pp_cache_work work = { 0 };
	struct pp_why ignored;

	return pp_cache_get_counted(cache, (uintptr_t)addr, length, out, &work,
				    why ? why : &ignored);
}

PP_PUBLIC void pp_cache_put(struct pp_cache *cache,
			    const struct pp_cache_entry *entry)
{
	PP_KEEP_ERRNO;
	struct pp_entry *e = pp_container_of(entry, struct pp_entry, pub);
	struct pp_entries doomed = TAILQ_HEAD_INITIALIZER(doomed);

	if (foreign(cache))
		return;
	pthread_mutex_lock(&cache->lock);
	pp_entry_unuse(cache, e, &doomed);
	pthread_mutex_unlock(&cache->lock);
	pp_entries_unpin(cache, &doomed);
}

PP_PUBLIC void pp_cache_invalidate(struct pp_cache *cache, const void *addr,
				   size_t length)
{
	PP_KEEP_ERRNO;
	struct pp_entries doomed = TAILQ_HEAD_INITIALIZER(doomed);
	struct pp_range range = { (uintptr_t)addr, (uintptr_t)addr + length };

	if (foreign(cache) || !length)
		return;
	if (range.end < range.start)
		range.end = UINT64_MAX;
	pthread_mutex_lock(&cache->lock);
	pp_entries_detach(cache, &range, &doomed);
	pthread_cond_broadcast(&cache->changed);
	pthread_mutex_unlock(&cache->lock);
	pp_entries_unpin(cache, &doomed);
}

PP_PUBLIC void pp_cache_flush(struct pp_cache *cache)
{
	PP_KEEP_ERRNO;
	struct pp_entries doomed = TAILQ_HEAD_INITIALIZER(doomed);
	struct pp_entry *e;

	if (foreign(cache))
		return;
	pthread_mutex_lock(&cache->lock);
	while ((e = TAILQ_FIRST(&cache->idle)))
		pp_entry_detach(cache, e, &doomed);
	pp_room_reset(cache);
	pthread_mutex_unlock(&cache->lock);
	pp_entries_unpin(cache, &doomed);
}

/* In a child of fork() the lock may be held by a thread that is not there. */
PP_PUBLIC void pp_cache_stats(struct pp_cache *cache,
			      struct pp_cache_stats *out)
{
	PP_KEEP_ERRNO;

	*out = (struct pp_cache_stats){ 0 };
	if (foreign(cache))
		return;
	pthread_mutex_lock(&cache->lock);
	*out = cache->stats;
	pthread_mutex_unlock(&cache->lock);
}

struct pp_ctx *pp_cache_ctx(const struct pp_cache *cache)
{
	return cache->ctx;
}

void pp_cache_set_ctx(struct pp_cache *cache, struct pp_ctx *ctx)
{
	cache->ctx = ctx;
}

PP_PUBLIC int pp_cache_create(const struct pp_cache_ops *ops, void *arg,
			      const struct pp_cache_attr *attr,
			      struct pp_cache **out)
{
	PP_KEEP_ERRNO;
	struct pp_cache *c;

	if (!ops->pin || !ops->unpin || (attr && attr->pin_flags))
		return -EINVAL;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->mark = pp_process_mark();
	if (!c->mark) {
		free(c);
		return -ENOMEM;
	}
	c->ops = *ops;
	c->arg = arg;
	c->attr = attr ? *attr : (struct pp_cache_attr){ 0 };
	pp_room_reset(c);
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	TAILQ_INIT(&c->idle);
	TAILQ_INIT(&c->leaving);
	c->clock = 1;	/* 0 is before everything */
	*out = c;
	return 0;
}

PP_PUBLIC void pp_cache_destroy(struct pp_cache *cache)
{
	PP_KEEP_ERRNO;

	if (!cache || foreign(cache))
		return;
	pp_cache_flush(cache);
	pp_index_free(&cache->index);
	pthread_cond_destroy(&cache->changed);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

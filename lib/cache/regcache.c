// SPDX-License-Identifier: MIT
/*
 * The registration cache.
 *
 * An entry is one registered range. A get() that finds an entry takes no lock.
 * It writes to the calling thread's memory (reader.h), to the entry's time stamp
 * once between two misses, and to the entry's state if it was COLD. All else is
 * done under one mutex, which is never held across a callback.
 *
 *	        pin ok           lru.c          evicted
 *	PENDING ------> LIVE <----------> COLD --------> EVICTED --unpin--> FREE
 *	 |  forgotten    | forgotten       | forgotten    |                  ^
 *	 v               v                 |              v flushed          |
 *	ORPHAN -------> GONE <-------------+            DEAD ------unpin-----+
 *	        pin ok   +------------------------------^
 *	                         no users left
 *
 * Invariants
 * I1 The mutex is held for every change of state except COLD to LIVE. Any reader
 *    makes that change, by compare-and-swap.
 * I2 The index holds the PENDING, LIVE, COLD and EVICTED entries; the LRU lists hold
 *    the LIVE and COLD ones; the list @gone holds the GONE ones; the list @leaving
 *    holds the EVICTED and DEAD ones.
 * I3 From LIVE until FREE an entry's range and registration do not change. Its memory
 *    is never used for anything else while the cache exists.
 * I4 One thread makes an entry EVICTED or DEAD (it holds the mutex), and that thread
 *    alone unpins it. Until the entry is FREE no miss registers the range of an EVICTED
 *    entry again.
 * I5 A thread becomes a user of an entry in one way only: it counts its
 *    reference, then finds the entry LIVE or makes it LIVE. The exception is the
 *    thread that pins: it counts its reference before the entry leaves PENDING or
 *    ORPHAN, and may also put it before then.
 *
 * The end of a callback. The thread that has called pin or unpin does not wait for the
 * mutex to change the state: while that thread slept, all misses of this range would
 * wait for it. It pushes the entry to a stack (@done), and the thread that holds the
 * mutex, or takes it next, changes the state (done.h).
 *
 * References. The number of users is the sum of the words of all threads and of
 * one word in the entry; no part of the sum means anything alone. A writer that
 * asks whether the sum is 0 first sets a state which admits no new users (COLD,
 * GONE), then calls membarrier(), then adds up. A reader counts first and reads
 * the state afterwards, with a compiler barrier in between. membarrier() makes
 * every running thread pass a full barrier: a reader whose count the writer does
 * not see reads the state after the barrier. It finds GONE and is not a user, or
 * finds COLD and makes it LIVE; then the writer's step from COLD to EVICTED fails.
 * After the barrier counts only fall. The exception is a reader which looks in
 * vain: it adds a reference and takes the same one back. So the sum may be too
 * high but never too low, and a sum of 0 means no users. A put of a reference
 * that another thread got lowers the sum like any other put.
 *
 * A put lowers its count, then reads the state. By the same barrier the put finds
 * GONE, or the writer saw the lowered count. A put that finds GONE takes the mutex,
 * which makes its own count visible, and adds up. Of several such puts the last
 * finds 0. A reader that counted in vain does the same. If another thread holds
 * the mutex, that thread does the work when it unlocks (@left). A waiting thread
 * has to unlock in this way, too, so threads do not wait on a condition variable of
 * the mutex (wait.h).
 *
 * Memory order. Counts are written with release and added up with acquire: all
 * that a user did with an entry comes before its unpin. States are seq_cst for
 * kernels without membarrier(): there references are counted in the entries by
 * read-modify-write, in one order with the states. An entry's fields are written
 * before LIVE is stored with release, and read after LIVE was loaded.
 * Tables and words of the index are stored with release and loaded with acquire
 * (index.h). A slot needs no acquire, because its word is loaded before, and the
 * entry's state after it.
 *	doc/model/orders.litmus has these arguments as litmus tests, which
 * scripts/check-model checks for arm64. On arm64, no order of the cache is stronger
 * than the tests need.
 *
 * Why not liburcu or Concurrency Kit: they protect memory from being freed under
 * a reader. Entries and tables need no such protection, as their addresses are
 * never reused. The cache has to know that an entry has no users, for as long as
 * a transfer takes; hazard pointers are made for moments.
 *
 * G1 (get never returns memory that was freed before the call began). Each hit
 * checks that the entry is valid *after* it has found the entry, so after the call
 * began. An earlier free has changed the word or the tag, or has called
 * pp_cache_invalidate(), and then the entry is not LIVE. A miss pins within the
 * call. A get that waits for another thread's PENDING entry looks the range up
 * again after the pin, and checks the entry like any other. Some entries serve
 * only the get that pins them: entries forgotten while PENDING, and entries that
 * become PENDING while the hook reports a free of their range.
 *
 * G2 (a hit takes no lock and makes no system call, and two threads that hit write
 * no common cache line). A hit of an entry with a word makes no CUDA call either; the
 * check of a tag is one. The exception is an entry's stamp, written once per miss.
 *
 * G3 (budget). An entry counts from before its pin until it is DEAD. A pin that
 * would exceed the budget together with all registrations that exist or are being
 * made (@pinned) waits for unpins in progress. When
 * an entry is added, or put while the budget is exceeded, idle entries are
 * evicted, oldest first, until the budget holds or no entry is idle.
 *	When a pin fails for lack of room, the entries that it replaces are unpinned
 * first. Then the entries that were idle at the first shortage are unpinned, one
 * before each attempt. Entries used later are another thread's working set: a get
 * that can never succeed must not evict them again and again. When no entry is
 * left, the miss waits for the unpins in progress. If an unpin has ended since the
 * last attempt, the miss makes one more. So a get reports a failure after a bounded
 * number of attempts. Before the last attempt every entry that was idle, EVICTED or
 * DEAD at the first shortage is unpinned.
 *
 * G4 (sub-ranges hit, overlaps merge). The result of @grow says whether the grown
 * range is a whole allocation.
 *	Whole allocation: an entry that overlaps the allocation but does not cover
 * the wanted range is older than the allocation, or a narrower pin of it. The new
 * entry replaces the old entry and is never merged with it: the free of one
 * allocation would not invalidate an entry across two.
 *	Host memory: the union of the range and its overlapping entries is
 * registered. If that fails, because part of the union may be unmapped by now, the
 * range alone is registered.
 *	The replaced entries stay and hit until the new entry is pinned, if there is
 * room for both.
 *
 * The key of an entry is the requested or grown range. The pin may register a
 * wider, rounded range, which is never the key. Small GPU allocations share blocks,
 * and so 64 KiB pages. With rounded keys a get of a neighbouring allocation would
 * hit. The pages would be right, as they stay with the block. But the neighbour
 * would lack SYNC_MEMOPS, which belongs to an allocation. And the neighbour's free
 * would stay undetected, as it revokes nothing. So each allocation has its own
 * entry; the GPU driver shares the BAR1 space of the common page.
 *
 * G5 (every pin is unpinned once): I4, and the last put of a GONE entry.
 *
 * Progress. A put, and a get that hits, wait for no other thread: a get searches each table
 * at most once, and tries at most the entries that its searches find. A miss waits for the
 * mutex, for pending registrations and evicted entries that overlap its range and,
 * if the budget requires it, for unpins. A pin or unpin in progress waits for no user of the cache. When it
 * has ended, its thread does not wait for the mutex, unless the new entry replaces others or the pin has failed.
 */
#include <stdlib.h>
#include <string.h>
#include "lib/sys/cancel.h"
#include "miss.h"
#include "lib/cuda/process.h"
#include "regcache.h"
#include "room.h"
#include "lib/sys/sys.h"
#include "watch.h"
#include "lib/cuda/why.h"

static inline bool foreign(const struct pp_cache *c)
{
	return !pp_process_is(c->mark);
}

/* ---- leaving ------------------------------------------------------------------------ */

/* Called after our count is lowered: a thread that forgets the entry sees the lower count, or we see GONE or @over. */
static inline bool is_wanted_back(struct pp_cache *c, struct pp_entry *e)
{
	return pp_entry_state(e) == PP_GONE || atomic_load(&c->over);
}

static __attribute__((noinline)) void tidy(struct pp_cache *c, struct pp_entry *e)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;

	pp_cache_tidy(c, e);
}

static void leave(struct pp_cache *c, struct pp_reader *r, struct pp_entry *e)
{
	pp_ref_put(r, e, pp_entry_index(&c->pool, e));
	if (is_wanted_back(c, e))
		tidy(c, e);
}

/* ---- looking up: no lock -------------------------------------------------------------- */

/* Result of a look-up. LOOK_STALE: the entry is no longer valid, and the caller has a reference to drop */
enum look {
	LOOK_NOT_YET,
	LOOK_MISS,
	LOOK_HIT,
	LOOK_STALE,
};

/*
 * Changes COLD to LIVE. True: the entry is LIVE now, made so by this thread or by another reader. False: a writer has
 * made the entry EVICTED or forgotten it first, so the caller is not a user. Acquire: the entry may have got another
 * registration since the caller found COLD. Then the caller must see the fields of the new registration.
 */
static bool revive(struct pp_entry *e)
{
	uint32_t state = PP_COLD;

	return atomic_compare_exchange_strong_explicit(&e->state, &state, PP_LIVE,
						       memory_order_acquire, memory_order_acquire) || state == PP_LIVE;
}

/* Called after our count is raised: a thread that makes the entry COLD sees the count, or we see COLD. */
static bool is_there(struct pp_entry *e)
{
	uint32_t state = pp_entry_state(e);

	return state == PP_LIVE || (state == PP_COLD && revive(e));
}

/* False for an empty range */
static inline bool covers(const struct pp_entry *e, uint64_t addr, uint64_t length)
{
	uint64_t offset = addr - e->pub.addr;

	return offset <= e->pub.length && length - 1 < e->pub.length - offset;
}

static inline bool word_is_good(const struct pp_entry *e)
{
	/* pairs with the kernel's release when it ended the registration */
	return atomic_load_explicit((const _Atomic uint32_t *)e->word, memory_order_acquire) == e->value;
}

/* valid() is the caller's code and may change errno. */
static bool is_good(struct pp_cache *c, const struct pp_entry *e)
{
	PP_KEEP_ERRNO;

	if (e->word)
		return word_is_good(e);
	return !c->ops.valid || c->ops.valid(c->arg, e->pub.reg);
}

/* Writes the stamp once between two misses, however many threads hit the entry. */
static inline void touch(struct pp_cache *c, struct pp_entry *e)
{
	uint32_t now = pp_cache_now(c);

	if (atomic_load_explicit(&e->stamp, memory_order_relaxed) != now)
		atomic_store_explicit(&e->stamp, now, memory_order_relaxed);
}

static enum look try(struct pp_cache *c, struct pp_reader *r, uint64_t addr, uint64_t length, struct pp_entry *e)
{
	pp_ref_get(r, e, pp_entry_index(&c->pool, e));
	if (!is_there(e) || !covers(e, addr, length)) {
		leave(c, r, e);
		return LOOK_MISS;
	}
	if (!is_good(c, e))
		return LOOK_STALE;
	touch(c, e);
	return LOOK_HIT;
}

/* Tries the entries in the line of the block that contains @addr. */
static enum look look_in_line(struct pp_cache *c, struct pp_reader *r, uint64_t addr, uint64_t length,
			      const struct pp_table *t, struct pp_entry **out)
{
	uint64_t unit = pp_unit_of(&t->lines, addr);
	const struct pp_line *l = pp_line_of(&t->lines, unit);
	uint64_t match = pp_line_tag_load(l) ? pp_line_match(l, unit) : 0;

	for (; match; match &= match - 1) {
		enum look found;

		*out = pp_entry_at(&c->pool, pp_line_entry(l, match));
		found = try(c, r, addr, length, *out);
		if (found != LOOK_MISS)
			return found;
	}
	return LOOK_MISS;
}

static enum look look_in_class(struct pp_cache *c, struct pp_reader *r, uint64_t addr, uint64_t length,
			       const struct pp_table *t, unsigned int k, struct pp_entry **out)
{
	struct pp_key key = pp_key_of(t, addr, k);
	uint64_t n = key.bucket, end = n + t->mask + 1, bytes, match;

	do {
		const struct pp_bucket *b = pp_bucket_at(t, n);

		bytes = atomic_load_explicit(&b->bytes, memory_order_acquire);
		for (match = pp_bytes_match(bytes, &key); match; match &= match - 1) {
			uint64_t slot = pp_slot_load(b, match);
			enum look found;

			if (!pp_slot_matches(slot, &key))
				continue;
			*out = pp_entry_at(&c->pool, pp_slot_entry(slot));
			found = try(c, r, addr, length, *out);
			if (found != LOOK_MISS)
				return found;
		}
	} while (pp_bytes_passed(bytes) && ++n != end);
	return LOOK_MISS;
}

/* Prefetches the buckets of all classes, so that their misses in the CPU's cache overlap. */
static inline void fetch(const struct pp_table *t, uint64_t addr, uint64_t classes)
{
	for (; classes; classes &= classes - 1)
		__builtin_prefetch(&t->buckets[pp_key_of(t, addr, __builtin_ctzll(classes)).bucket]);
}

static enum look look_up(struct pp_cache *c, struct pp_reader *r, uint64_t addr, uint64_t length,
			 struct pp_entry **out)
{
	const struct pp_table *t = atomic_load_explicit(&c->index.table, memory_order_acquire);
	enum look in_line = look_in_line(c, r, addr, length, t, out);
	uint64_t classes;

	if (in_line != LOOK_MISS)
		return in_line;
	classes = pp_classes_at(&c->index, t, addr);
	fetch(t, addr, classes & (classes - 1));
	for (; classes; classes &= classes - 1) {
		enum look found = look_in_class(c, r, addr, length, t, __builtin_ctzll(classes), out);

		if (found != LOOK_MISS)
			return found;
	}
	return LOOK_MISS;
}

static void count_hit_elsewhere(struct pp_cache *c)
{
	atomic_fetch_add_explicit(&c->hits, 1, memory_order_relaxed);
	if (c->published)
		atomic_fetch_add_explicit(&c->published->hits, 1, memory_order_relaxed);
}

static inline void count_hit(struct pp_cache *c, struct pp_reader *r)
{
	if (r)
		atomic_store_explicit(&r->hits, atomic_load_explicit(&r->hits, memory_order_relaxed) + 1,
				      memory_order_relaxed);
	else
		count_hit_elsewhere(c);
}

/* ---- all else ------------------------------------------------------------------------- */

/* Drops our reference to a stale entry, and forgets the entry unless another thread has already done so. */
static void drop_stale(struct pp_cache *c, struct pp_reader *r, struct pp_entry *e)
{
	struct pp_doomed doomed = PP_NONE_DOOMED;

	pp_cache_lock(c);
	pp_ref_put(r, e, pp_entry_index(&c->pool, e));
	if (pp_entry_is_listed(e)) {
		c->stats.revocations++;
		pp_cache_forget(c, e, &doomed);
	} else if (pp_entry_state(e) == PP_GONE) {
		pp_readers_count(&c->readers, &c->pool);
		pp_cache_doom_unused(c, e, &doomed);
	}
	pp_cache_unlock(c, &doomed);
}

enum { SWEPT = 16 };	/* entries that a miss checks */

/*
 * May a miss of other memory check the entry? CUDA's driver may crash if it is asked about memory that another thread
 * frees (libpeerpin.h). So a cache of regions whose pins are not persistent checks only entries with a word, and asks CUDA
 * nothing: a revocable pin keeps no freed memory allocated, so its entry can wait for a hit. All other caches check.
 */
static bool may_check(const struct pp_cache *c, const struct pp_entry *e)
{
	return !c->ctx || c->attr.pin_flags || e->word;
}

/*
 * The next LIVE entries in turn that a miss may check, each with a reference of ours. The lock keeps them LIVE or COLD
 * until we count.
 */
static unsigned int pick(struct pp_cache *c, struct pp_reader *r, struct pp_entry **out)
{
	unsigned int i, n = 0;

	pp_cache_lock(c);
	for (i = 0; i < SWEPT && i < c->pool.ever - PP_FIRST_ENTRY; i++) {
		struct pp_entry *e;

		if (++c->swept >= c->pool.ever)
			c->swept = PP_FIRST_ENTRY;
		e = pp_entry_at(&c->pool, c->swept);
		if (pp_entry_state(e) != PP_LIVE || !may_check(c, e))
			continue;
		pp_ref_get(r, e, c->swept);
		out[n++] = e;
	}
	pp_cache_unlock(c, NULL);
	return n;
}

/*
 * If a cache detects frees by a tag, freed memory stays allocated until a hit compares the tag. The program may
 * never ask for this address again. So each miss checks the tags of a few entries, all entries in turn.
 */
static void sweep(struct pp_cache *c, struct pp_reader *r)
{
	struct pp_entry *some[SWEPT];
	unsigned int i, n;

	if (!c->ops.valid)
		return;
	n = pick(c, r, some);
	for (i = 0; i < n; i++) {
		if (is_good(c, some[i]))
			leave(c, r, some[i]);
		else
			drop_stale(c, r, some[i]);
	}
}

/* Repeats until the range hits, or until our registration of the range succeeds or fails. @found: result of a look-up */
static int get(struct pp_cache *c, const struct pp_range *asked, enum look found, struct pp_entry **out,
	       struct pp_cache_work *work, struct pp_why *why)
{
	struct pp_reader *r = pp_reader_here(&c->readers);
	bool revoked = false;
	int ret;

	for (;; found = look_up(c, r, asked->start, pp_range_length(asked), out)) {
		switch (found) {
		case LOOK_NOT_YET:
			continue;
		case LOOK_HIT:
			count_hit(c, r);
			return 0;
		case LOOK_STALE:
			revoked = true;
			drop_stale(c, r, *out);
			continue;
		case LOOK_MISS:
			break;
		}
		if (pp_miss_wait(c, asked))
			continue;
		sweep(c, r);
		ret = pp_miss(c, asked, out, work, why);
		if (ret == 1)
			continue;
		/* the range was registered before, and @pin finds no memory there now: it was freed */
		return ret == -EINVAL && revoked ? -ESTALE : ret;
	}
}

static int get_checked(struct pp_cache *c, uint64_t addr, uint64_t length, enum look found, struct pp_entry **out,
		       struct pp_cache_work *work, struct pp_why *why)
{
	struct pp_range asked = { addr, addr + length };
	int ret;

	*why = (struct pp_why){ 0 };
	if (foreign(c))
		return pp_refuse(why, PEERPIN_REASON_NOT_OWNED, -EACCES);
	if (!length || asked.end < asked.start)
		return -EINVAL;
	ret = get(c, &asked, found, out, work, why);
	if (ret && c->ctx)
		pp_why_room(why, (const void *)(uintptr_t)addr);
	return ret;
}

/* @found: result of the last look-up; @e: the entry, if it is LOOK_STALE */
static int get_after(struct pp_cache *c, uint64_t addr, uint64_t length, enum look found, struct pp_entry *e,
		     const struct pp_cache_entry **out, struct pp_cache_work *work, struct pp_why *why)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	struct pp_why ignored;
	int ret = get_checked(c, addr, length, found, &e, work, why ? why : &ignored);

	if (!ret)
		*out = &e->pub;
	return ret;
}

int pp_cache_get_counted(struct pp_cache *cache, uint64_t addr,
			 uint64_t length, const struct pp_cache_entry **out,
			 struct pp_cache_work *work, struct pp_why *why)
{
	return get_after(cache, addr, length, LOOK_NOT_YET, NULL, out, work, why);
}

static inline bool is_usual_hit(struct pp_entry *e, uint64_t addr, uint64_t length)
{
	return pp_entry_state(e) == PP_LIVE && covers(e, addr, length) && e->word && word_is_good(e);
}

/* ---- the usual hit ----------------------------------------------------------------------- */

static int hit_by(struct pp_cache *c, struct pp_entry *e, const struct pp_cache_entry **out)
{
	touch(c, e);
	count_hit(c, pp_reader_here(&c->readers));
	*out = &e->pub;
	return 0;
}

/* @first: NULL, or an entry that is no usual hit, with a reference of ours. If the entry is COLD, it may become a hit. */
static __attribute__((noinline)) int get_other(struct pp_cache *c, uint64_t addr, uint64_t length,
					       const struct pp_cache_entry **out, struct pp_why *why,
					       struct pp_entry *first)
{
	struct pp_reader *r = NULL;
	struct pp_entry *e = NULL;
	enum look found = LOOK_NOT_YET;

	if (first && is_there(first) && is_usual_hit(first, addr, length))
		return hit_by(c, first, out);
	if (first)
		leave(c, pp_reader_here(&c->readers), first);
	if (!foreign(c) && length) {
		r = pp_reader_here(&c->readers);
		found = look_up(c, r, addr, length, &e);
	}
	if (found != LOOK_HIT)
		return get_after(c, addr, length, found, e, out, NULL, why);
	count_hit(c, r);
	*out = &e->pub;
	return 0;
}

/*
 * pp_cache_get() below repeats look_up() for the usual case, without calls, so that
 * the compiler keeps all in registers. The usual case: the entry is in a line, or in the
 * buckets, which have only one class; the line or bucket is the first of the search; the
 * entry is LIVE and has a word; the thread has used this cache before, which proves that
 * the cache belongs to this process. get_other() does all other cases.
 */

/* Index of an entry that may cover @addr, or PP_NO_ENTRY (also from a slot that was just emptied). */
static inline uint32_t first_of_one_class(struct pp_cache *c, uint64_t addr)
{
	unsigned int k = atomic_load_explicit(&c->index.only, memory_order_acquire);
	const struct pp_table *t = atomic_load_explicit(&c->index.table, memory_order_acquire);
	const struct pp_bucket *b;
	struct pp_key key;
	uint64_t match, slot;

	if (__builtin_expect(!k, 0))
		return PP_NO_ENTRY;
	key = pp_key_of(t, addr, k);
	b = &t->buckets[key.bucket];
	match = pp_bytes_match(atomic_load_explicit(&b->bytes, memory_order_acquire), &key);
	for (; match; match &= match - 1) {
		slot = pp_slot_load(b, match);
		if (__builtin_expect(pp_slot_matches(slot, &key), 1))
			return pp_slot_entry(slot);
	}
	return PP_NO_ENTRY;
}

/* As first_of_one_class(), but from the line of the block that contains @addr */
static inline uint32_t first_in_line(struct pp_cache *c, uint64_t addr)
{
	const struct pp_table *t = atomic_load_explicit(&c->index.table, memory_order_acquire);
	uint64_t unit = pp_unit_of(&t->lines, addr), match;
	const struct pp_line *l = &t->lines.at[pp_line_place(&t->lines, unit)];

	if (__builtin_expect(pp_line_tag_load(l) != pp_line_tag(unit), 0))
		return PP_NO_ENTRY;
	match = pp_line_match(l, unit);
	return __builtin_expect(match != 0, 1) ? pp_line_entry(l, match) : PP_NO_ENTRY;
}

/* Keeps the time of a hit independent of the code that the linker puts before the function. */
#define AT_A_CACHE_LINE __attribute__((aligned(64)))

PP_PUBLIC AT_A_CACHE_LINE int pp_cache_get(struct pp_cache *cache, const void *at, size_t length,
			   const struct pp_cache_entry **out, struct pp_why *why)
{
	struct pp_reader *r = pp_reader_at_hand(&cache->readers);
	uint64_t addr = (uintptr_t)at;
	struct pp_entry *e;
	uint32_t index;

	if (__builtin_expect(!r, 0))
		return get_other(cache, addr, length, out, why, NULL);
	index = first_of_one_class(cache, addr);
	if (index == PP_NO_ENTRY)
		index = first_in_line(cache, addr);
	if (__builtin_expect(index == PP_NO_ENTRY, 0))
		return get_other(cache, addr, length, out, why, NULL);
	e = pp_entry_at(&cache->pool, index);
	if (__builtin_expect(!pp_ref_add(pp_ref_place(r, index, 0), index), 0))
		return get_other(cache, addr, length, out, why, NULL);
	if (__builtin_expect(!is_usual_hit(e, addr, length), 0))
		return get_other(cache, addr, length, out, why, e);
	touch(cache, e);
	count_hit(cache, r);
	*out = &e->pub;
	return 0;
}

static __attribute__((noinline)) void put_other(struct pp_cache *c, struct pp_entry *e)
{
	if (!foreign(c))
		leave(c, pp_reader_here(&c->readers), e);
}

PP_PUBLIC AT_A_CACHE_LINE void pp_cache_put(struct pp_cache *cache, const struct pp_cache_entry *entry)
{
	struct pp_entry *e = pp_container_of(entry, struct pp_entry, pub);
	struct pp_reader *r = pp_reader_at_hand(&cache->readers);
	uint32_t index = pp_entry_index(&cache->pool, e);

	if (__builtin_expect(!r || !pp_ref_sub(pp_ref_place(r, index, 0), index), 0))
		put_other(cache, e);
	else if (__builtin_expect(is_wanted_back(cache, e), 0))
		tidy(cache, e);
}

PP_PUBLIC void pp_cache_invalidate(struct pp_cache *cache, const void *addr,
				   size_t length)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	struct pp_doomed doomed = PP_NONE_DOOMED;
	struct pp_range range = { (uintptr_t)addr, (uintptr_t)addr + length };
	bool others;
	uint32_t by;

	if (foreign(cache) || !length)
		return;
	if (range.end < range.start)
		range.end = UINT64_MAX;
	pp_cache_lock(cache);
	pp_cache_forget_range(cache, &range, NULL, &doomed);
	/* also unpin entries that were GONE before: their last user may have failed to take the lock */
	pp_cache_sweep(cache, &doomed);
	by = cache->doom;
	others = cache->leaving.count > doomed.count;
	pp_cache_unlock(cache, &doomed);
	/* entries that other threads are unpinning are still registered */
	if (others)
		pp_cache_await_unpins(cache, &range, by);
}

PP_PUBLIC void pp_cache_flush(struct pp_cache *cache)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	struct pp_doomed doomed = PP_NONE_DOOMED;

	if (foreign(cache))
		return;
	pp_cache_lock(cache);
	pp_cache_evict_all(cache, &doomed);
	/*
	 * Force a sweep: at the end of the cache no later call unpins the unused GONE entries. Not relaxed: if this
	 * store replaces the one of pp_cache_leave_work(), the sweep takes this value. The sweep must still see the
	 * count that the put has lowered (orders.litmus: put_before_flush).
	 */
	atomic_store(&cache->left, true);
	pp_cache_sweep(cache, &doomed);
	pp_room_reset(cache);
	pp_cache_unlock(cache, &doomed);
}

/* In a child of fork() it reports zeros: a thread of the parent may hold the inherited lock. */
PP_PUBLIC void pp_cache_stats(struct pp_cache *cache,
			      struct pp_cache_stats *out)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;

	*out = (struct pp_cache_stats){ 0 };
	if (foreign(cache))
		return;
	pp_cache_lock(cache);
	*out = cache->stats;
	pp_cache_unlock(cache, NULL);
	out->hits = pp_readers_hits(&cache->readers) + atomic_load_explicit(&cache->hits, memory_order_relaxed);
}

struct pp_ctx *pp_cache_ctx(const struct pp_cache *cache)
{
	return cache->ctx;
}

void pp_cache_set_ctx(struct pp_cache *cache, struct pp_ctx *ctx)
{
	cache->ctx = ctx;
	cache->arg = cache;
}

void pp_cache_set_hooked(struct pp_cache *cache, int (*is_going)(uint64_t addr, uint64_t length))
{
	cache->is_going = is_going;
}

void pp_cache_set_no_files(struct pp_cache *cache)
{
	cache->no_files = true;
}

/* ---- beginning and end ------------------------------------------------------------------ */

/* A thread that waits for the lock spins before it sleeps, because a sleep takes longer than the lock is held. */
static void lock_init(pthread_mutex_t *lock)
{
	pthread_mutexattr_t attr;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ADAPTIVE_NP);
	pthread_mutex_init(lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

static int init(struct pp_cache *c)
{
	int ret;

	c->mark = pp_process_mark();
	if (!c->mark)
		return -ENOMEM;
	ret = pp_pool_init(&c->pool);
	if (ret)
		return ret;
	ret = pp_index_init(&c->index);
	if (ret) {
		pp_pool_end(&c->pool);
		return ret;
	}
	c->published = pp_publish();
	pp_readers_init(&c->readers);
	pp_lru_init(&c->lru);
	pp_list_init(&c->gone);
	pp_list_init(&c->leaving);
	pp_room_reset(c);
	lock_init(&c->lock);
	pp_waiters_init(&c->waiters);
	return 0;
}

static struct pp_cache *cache_alloc(void)
{
	struct pp_cache *c = aligned_alloc(alignof(struct pp_cache), sizeof(*c));

	if (c)
		memset(c, 0, sizeof(*c));
	return c;
}

/* The word of a cache with neither word() nor valid(): its entries are valid until invalidated. */
static const uint32_t always;

static const uint32_t *always_word(void *arg, void *reg, uint32_t *value)
{
	(void)arg;
	(void)reg;
	*value = always;
	return &always;
}

int pp_cache_make(const struct pp_cache_ops *ops, void *arg, const struct pp_cache_attr *attr,
		  struct pp_cache **out)
{
	PP_NO_CANCEL;
	struct pp_cache *c = cache_alloc();
	int ret;

	if (!c)
		return -ENOMEM;
	c->ops = *ops;
	if (!ops->word && !ops->valid)
		c->ops.word = always_word;
	c->arg = arg;
	c->attr = attr ? *attr : (struct pp_cache_attr){ 0 };
	ret = init(c);
	if (ret)
		free(c);
	else
		*out = c;
	return ret;
}

PP_PUBLIC int pp_cache_create(const struct pp_cache_ops *ops, void *arg,
			      const struct pp_cache_attr *attr,
			      struct pp_cache **out)
{
	PP_KEEP_ERRNO;

	if (!ops || !out || !ops->pin || !ops->unpin || (attr && (attr->pin_flags || attr->watch)))
		return -EINVAL;
	return pp_cache_make(ops, arg, attr, out);
}

PP_PUBLIC void pp_cache_destroy(struct pp_cache *cache)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;

	if (!cache || foreign(cache))
		return;
	if (cache->is_going)
		pp_watch_end(cache);
	pp_cache_flush(cache);
	pp_cache_lock(cache);	/* publish the flush's unpins */
	pp_cache_unlock(cache, NULL);
	pp_readers_end(&cache->readers);
	pp_index_end(&cache->index);
	pp_pool_end(&cache->pool);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

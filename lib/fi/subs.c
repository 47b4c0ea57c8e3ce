// SPDX-License-Identifier: MIT
#include <errno.h>
#include <linux/types.h>
#include <peerpin.h>
#include <stdlib.h>
#include "lib/cuda/process.h"
#include "lib/sys/sys.h"
#include "lib/sys/thread.h"
#include "subs.h"

enum {
	SIZE_MIN = 1024,
	SCAN = 8192,		/* places that one call of pp_subs_changed() examines */
	PERIOD_MS = 100,	/* between two calls */
	WORDS = PEERPIN_MAX_REGIONS + PEERPIN_MAX_WATCHES,
};

/* No registration starts at this address. */
static const uint64_t REMOVED = 1;

/* ---- the table -------------------------------------------------------------------------- */

static uint64_t start_of(const struct pp_sub *sub)
{
	return atomic_load_explicit(&sub->start, memory_order_relaxed);
}

static uint32_t stage_of(const struct pp_sub *sub)
{
	return atomic_load_explicit(&sub->stage, memory_order_relaxed);
}

static struct pp_range range_of(const struct pp_sub *sub)
{
	return (struct pp_range){ start_of(sub), start_of(sub) + sub->length };
}

static struct pp_sub *find(const struct pp_subs *s, uint64_t start, uint64_t length)
{
	return start > REMOVED ? pp_subs_place(s, start, length) : NULL;
}

/* A free place for a new subscription. At most half of the places are used, so there is one. */
static struct pp_sub *place_for(struct pp_subs *s, uint64_t start, uint64_t length)
{
	uint32_t at = pp_subs_hash(start, length);

	while (start_of(&s->table[at & s->mask]) > REMOVED)
		at++;
	return &s->table[at & s->mask];
}

static struct pp_sub *table_make(uint32_t size)
{
	return aligned_alloc(_Alignof(struct pp_sub), size * sizeof(struct pp_sub));
}

static void table_clear(struct pp_sub *table, uint32_t size)
{
	uint32_t i;

	for (i = 0; i < size; i++)
		table[i] = (struct pp_sub){ .length = UINT64_MAX };
}

/* Drops the places that were used before, and doubles the table if subscriptions fill a quarter. */
static int rebuild(struct pp_subs *s)
{
	uint32_t now = s->mask + 1, size = s->count > now / 4 ? now * 2 : now;
	struct pp_sub *old = s->table, *sub, *end = old + now;
	struct pp_sub *table = table_make(size);

	if (!table)
		return -ENOMEM;
	table_clear(table, size);
	s->table = table;
	s->mask = size - 1;
	s->used = s->count;
	for (sub = old; sub < end; sub++)
		if (stage_of(sub) != PP_SUB_FREE)
			*place_for(s, start_of(sub), sub->length) = *sub;
	free(old);
	return 0;
}

/* ---- changes of one subscription: with the lock held ------------------------------------- */

/*
 * valid() compares the word with @hit only. The word had @epoch - 1 before the watch or pin began, and never has it again,
 * because it only grows.
 */
static void hit_set(struct pp_sub *sub)
{
	atomic_store_explicit(&sub->hit, stage_of(sub) == PP_SUB_LIVE ? sub->epoch : sub->epoch - 1, memory_order_relaxed);
}

static void stage_set(struct pp_sub *sub, enum pp_sub_stage stage)
{
	atomic_store_explicit(&sub->stage, stage, memory_order_relaxed);
	hit_set(sub);
}

/* Acquire: pairs with the kernel's release store, as in pp_watch_valid(). */
static bool word_is_valid(const struct pp_subs *s, const struct pp_sub *sub)
{
	return atomic_load_explicit(&s->words[sub->slot], memory_order_acquire) == sub->epoch;
}

static void disarm(struct pp_subs *s, struct pp_sub *sub)
{
	if (sub->armed && sub->is_gpu)
		pp_unpin(s->ctx, &(struct pp_region){ .id = sub->id });
	else if (sub->armed)
		pp_unwatch(s->ctx, &(struct pp_watched){ .id = sub->id });
	sub->armed = false;
}

static int arm_gpu(struct pp_subs *s, struct pp_sub *sub)
{
	struct pp_region region;
	int ret = pp_pin(s->ctx, (void *)(uintptr_t)start_of(sub), sub->length, &region, NULL);

	if (ret)
		return ret;
	sub->is_gpu = true;
	sub->id = region.id;
	sub->slot = region.slot;
	sub->epoch = region.epoch;
	return 0;
}

static int arm_host(struct pp_subs *s, struct pp_sub *sub)
{
	struct pp_watched watched;
	int ret;

	do
		ret = pp_watch(s->ctx, (void *)(uintptr_t)start_of(sub), sub->length, &watched, NULL);
	while (ret == -EINTR);
	if (ret)
		return ret;
	sub->is_gpu = false;
	sub->id = watched.id;
	sub->slot = watched.slot;
	sub->epoch = watched.epoch;
	return 0;
}

static int arm(struct pp_subs *s, struct pp_sub *sub)
{
	int ret;

	disarm(s, sub);
	ret = arm_host(s, sub);
	if (ret == -EOPNOTSUPP)
		ret = arm_gpu(s, sub);
	sub->armed = !ret;
	hit_set(sub);
	return ret;
}

static void end(struct pp_subs *s, struct pp_sub *sub)
{
	disarm(s, sub);
	stage_set(sub, PP_SUB_FREE);
	atomic_store_explicit(&sub->start, REMOVED, memory_order_relaxed);
	s->count--;
}

/* If there is no room, the thread finds @sub by its scan. */
static void queue(struct pp_subs *s, const struct pp_sub *sub)
{
	if (s->changes == PP_SUBS_BATCH)
		return;
	s->change[s->changes++] = range_of(sub);
	pthread_cond_signal(&s->wake);
}

/* The memory has changed, or the watch is given up. */
static void changed(struct pp_subs *s, struct pp_sub *sub)
{
	disarm(s, sub);
	stage_set(sub, PP_SUB_CHANGED);
	queue(s, sub);
}

static void entry_is_removed(struct pp_subs *s, struct pp_sub *sub)
{
	if (!--sub->entries)
		end(s, sub);
}

/* ---- called by libfabric ----------------------------------------------------------------- */

/* fork() may copy a locked mutex into the child, where no thread unlocks it. */
static bool is_foreign(const struct pp_subs *s)
{
	return !pp_process_is(s->mark);
}

/* The table is full: gives up some subscriptions, so that a later one has room. */
static void make_room(struct pp_subs *s)
{
	uint32_t left = PP_SUBS_BATCH, i;
	struct pp_sub *sub;

	if (s->changes)
		return;		/* the thread is about to make room */
	for (i = 0; i <= s->mask && left; i++) {
		sub = &s->table[s->cursor++ & s->mask];
		if (stage_of(sub) != PP_SUB_LIVE)
			continue;
		changed(s, sub);
		left--;
	}
}

static int add_new(struct pp_subs *s, uint64_t start, uint64_t length)
{
	struct pp_sub new = { .start = start, .length = length, .entries = 1 }, *sub;
	int ret = s->used > s->mask / 2 ? rebuild(s) : 0;

	ret = ret ? ret : arm(s, &new);
	if (ret)
		return ret;
	sub = place_for(s, start, length);
	s->used += !start_of(sub);
	s->count++;
	atomic_init(&new.start, 0);
	*sub = new;
	stage_set(sub, PP_SUB_LIVE);
	atomic_store_explicit(&sub->start, start, memory_order_relaxed);
	return 0;
}

/* Counts the entry even if the call fails, because libfabric 2 unsubscribes then. */
static int add_again(struct pp_subs *s, struct pp_sub *sub)
{
	sub->entries++;
	sub->discarded = false;
	if (sub->armed && word_is_valid(s, sub))
		return 0;
	if (stage_of(sub) == PP_SUB_LIVE || sub->armed)
		changed(s, sub);	/* entries of the old watch may be newer than a notification in progress */
	return arm(s, sub);
}

static int add_locked(struct pp_subs *s, uint64_t start, uint64_t length)
{
	struct pp_sub *sub = find(s, start, length);

	if (sub)
		return add_again(s, sub);
	if (s->count < PP_SUBS_MAX)
		return add_new(s, start, length);
	make_room(s);
	return -ENOSPC;
}

int pp_subs_add(struct pp_subs *s, uint64_t start, uint64_t length)
{
	int ret;

	if (is_foreign(s))
		return -EACCES;
	if (start <= REMOVED || !length)
		return -EINVAL;
	pthread_mutex_lock(&s->lock);
	ret = add_locked(s, start, length);
	if (s->count == 1)
		pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	return ret;
}

void pp_subs_remove(struct pp_subs *s, uint64_t start, uint64_t length)
{
	struct pp_sub *sub;

	if (is_foreign(s))
		return;
	pthread_mutex_lock(&s->lock);
	sub = find(s, start, length);
	if (sub && sub->discarded)
		sub->discarded = false;
	else if (sub)
		entry_is_removed(s, sub);
	pthread_mutex_unlock(&s->lock);
}

bool pp_subs_discard(struct pp_subs *s, uint64_t start, uint64_t length)
{
	struct pp_sub *sub;

	if (is_foreign(s))
		return false;
	pthread_mutex_lock(&s->lock);
	sub = find(s, start, length);
	if (sub && stage_of(sub) == PP_SUB_LIVE)
		changed(s, sub);
	if (sub) {
		sub->discarded = true;
		entry_is_removed(s, sub);
	}
	pthread_mutex_unlock(&s->lock);
	return false;
}

void pp_subs_clear(struct pp_subs *s)
{
	uint32_t i;

	if (is_foreign(s))
		return;
	pthread_mutex_lock(&s->lock);
	for (i = 0; i <= s->mask; i++)
		if (stage_of(&s->table[i]) != PP_SUB_FREE)
			end(s, &s->table[i]);
	pthread_mutex_unlock(&s->lock);
}

/* ---- the thread --------------------------------------------------------------------------- */

bool pp_subs_wait(struct pp_subs *s)
{
	struct timespec until = pp_time_after_ms(PERIOD_MS);
	bool goes_on;

	pthread_mutex_lock(&s->lock);
	while (!s->ending && !s->count)
		pthread_cond_wait(&s->wake, &s->lock);
	if (!s->ending && !s->changes)
		pthread_cond_timedwait(&s->wake, &s->lock, &until);
	goes_on = !s->ending;
	pthread_mutex_unlock(&s->lock);
	return goes_on;
}

static void tell(struct pp_sub *sub, struct pp_range *out, uint32_t *count)
{
	if (!sub || stage_of(sub) != PP_SUB_CHANGED)
		return;
	stage_set(sub, PP_SUB_TELLING);
	out[(*count)++] = range_of(sub);
}

/* Finds changes of memory that no cache has used since, and subscriptions that had no room in the queue. */
static void scan(struct pp_subs *s)
{
	struct pp_sub *sub;
	uint32_t i;

	for (i = 0; i < SCAN && i <= s->mask && s->changes < PP_SUBS_BATCH; i++) {
		sub = &s->table[s->cursor++ & s->mask];
		if (stage_of(sub) == PP_SUB_LIVE && !word_is_valid(s, sub))
			changed(s, sub);
		else if (stage_of(sub) == PP_SUB_CHANGED)
			queue(s, sub);
	}
}

uint32_t pp_subs_changed(struct pp_subs *s, struct pp_range *out)
{
	uint32_t count = 0, i;

	pthread_mutex_lock(&s->lock);
	scan(s);
	for (i = 0; i < s->changes; i++)
		tell(find(s, s->change[i].start, pp_range_length(&s->change[i])), out, &count);
	s->changes = 0;
	pthread_mutex_unlock(&s->lock);
	return count;
}

/*
 * notify() has removed all older entries. All later entries were made with the present watch, because
 * add_again() leaves TELLING when it replaces a watch. If the watch is valid, so are the entries.
 */
static void told(struct pp_subs *s, struct pp_sub *sub)
{
	if (!sub->armed)
		end(s, sub);
	else if (word_is_valid(s, sub))
		stage_set(sub, PP_SUB_LIVE);
	else
		changed(s, sub);
}

void pp_subs_told(struct pp_subs *s, const struct pp_range *ranges, uint32_t count)
{
	struct pp_sub *sub;
	uint32_t i;

	pthread_mutex_lock(&s->lock);
	for (i = 0; i < count; i++) {
		sub = find(s, ranges[i].start, pp_range_length(&ranges[i]));
		if (sub && stage_of(sub) == PP_SUB_TELLING)
			told(s, sub);
	}
	pthread_mutex_unlock(&s->lock);
}

void pp_subs_end(struct pp_subs *s)
{
	pthread_mutex_lock(&s->lock);
	s->ending = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
}

/* ---- life ---------------------------------------------------------------------------------- */

int pp_subs_init(struct pp_subs *s, struct pp_ctx *ctx)
{
	void *words;
	int ret;

	*s = (struct pp_subs){ .ctx = ctx, .mark = pp_process_mark(), .mask = SIZE_MIN - 1 };
	if (!s->mark)
		return -ENOMEM;
	ret = pp_sys_map(pp_fd(ctx), WORDS * sizeof(*s->words), &words);
	if (ret)
		return ret;
	s->words = words;
	s->table = table_make(SIZE_MIN);
	if (!s->table) {
		pp_sys_unmap(words, WORDS * sizeof(*s->words));
		return -ENOMEM;
	}
	table_clear(s->table, SIZE_MIN);
	pthread_mutex_init(&s->lock, NULL);
	pp_cond_init(&s->wake);
	return 0;
}

void pp_subs_fini(struct pp_subs *s)
{
	pp_sys_unmap((void *)s->words, WORDS * sizeof(*s->words));
	free(s->table);
}

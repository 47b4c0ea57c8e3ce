/* SPDX-License-Identifier: MIT */
/*
 * Threads that wait in the cache. Each waits for one event and sleeps on a word of its own, so an event wakes only the
 * threads that wait for it. All functions but pp_waiter_sleep() and pp_waiters_wake() are called with the cache's lock held.
 */
#ifndef PP_WAIT_H
#define PP_WAIT_H

#include <stdatomic.h>
#include <stdint.h>

enum { PP_WAIT_HEADS = 64 };

/**
 * struct pp_waiter - a waiting thread; lies on its stack
 * @number: index of the entry whose change the thread waits for; or, for room, number of the unpin that ends
 *	the wait (@doom in struct pp_cache)
 * @length: for room: bytes of the registration that the thread is about to make; the wait also ends when the budget has
 *	room for it. 0: only the unpin ends the wait
 * @woken: 1: the wait is over; the waking thread accesses the waiter no more
 */
struct pp_waiter {
	struct pp_waiter *next;
	uint32_t number;
	uint64_t length;
	_Atomic uint32_t woken;
};

/**
 * struct pp_waiters - all waiting threads of a cache
 * @of_entries: waiters for entries, in lists by the last bits of the index
 * @for_room: waiters for room, in the order of @number; @room_end: the NULL pointer at their end
 * @woken: waiters to wake when the lock is dropped
 * @count: number of waiters in @of_entries and @for_room; also read without the lock
 */
struct pp_waiters {
	struct pp_waiter *of_entries[PP_WAIT_HEADS];
	struct pp_waiter *for_room;
	struct pp_waiter **room_end;
	struct pp_waiter *woken;
	_Atomic uint32_t count;
};

void pp_waiters_init(struct pp_waiters *all);
void pp_waiters_add_of_entry(struct pp_waiters *all, struct pp_waiter *w);
void pp_waiters_add_for_room(struct pp_waiters *all, struct pp_waiter *w);

/* Move the waiters of entry @index to @woken. */
void pp_waiters_end_of_entry(struct pp_waiters *all, uint32_t index);

/* Move the waiter at *@at to @woken. */
void pp_waiters_end(struct pp_waiters *all, struct pp_waiter **at);

/* Wake a list that was taken from @woken. */
void pp_waiters_wake(struct pp_waiter *list);

/* Sleep until another thread wakes the waiter. */
void pp_waiter_sleep(struct pp_waiter *w);

#endif

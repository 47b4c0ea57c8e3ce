/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The API lock: one for all GPUs, as the real driver has one. Whoever frees
 * GPU memory holds it while the free callbacks run, so that a consumer which
 * takes a lock of its own both in its callback and around nvidia_p2p_get_pages
 * deadlocks (and lockdep says so) here as it would there.
 *
 * Lock order
 *	API lock -> block list lock | map lock | VRAM lock (leaves, none in another)
 *	window lock -> mmap lock (the copy engine reads and writes user memory)
 * The API lock and the window lock never nest; GPU slots have a leaf spinlock.
 * Nothing reads or writes user memory under the API lock.
 */
#ifndef _EMUGPU_API_H
#define _EMUGPU_API_H

#include <linux/atomic.h>
#include <linux/types.h>

/* What happened since the module was loaded; for the TEST ioctl. */
struct emugpu_counters {
	atomic64_t get_calls;
	atomic64_t put_calls;
	atomic64_t callbacks;
	atomic64_t violations;
};

extern struct emugpu_counters emugpu_counters;

void emugpu_api_lock(void);
void emugpu_api_unlock(void);
void emugpu_api_assert_held(void);

/* Runs a consumer's callback; API lock held. */
void emugpu_api_callback(void (*callback)(void *data), void *data);

/* True in the thread that runs a callback, which must not come for the lock. */
bool emugpu_api_in_callback(void);

/* Sleep this long before each callback, for tests that need a race to be wide. */
void emugpu_api_delay_callbacks(unsigned int ms);

/* A consumer did what would corrupt the real driver: count it and name it. */
void emugpu_violation(const void *caller, const char *what);

#endif

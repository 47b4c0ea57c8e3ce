/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The API lock: one for all GPUs, as the real driver has one. Whoever frees
 * GPU memory holds it while the free callbacks run, so that a consumer which
 * takes a lock of its own both in its callback and around nvidia_p2p_get_pages
 * deadlocks (and lockdep says so) here as it would there.
 *
 * Lock order
 *	reservation lock of a dma-buf -> API lock (emu/kmod/export.c)
 *	API lock -> window lock (emu/kmod/guard.c, stash.c) -> VRAM lock
 *	API lock -> window lock (emu/kmod/guard.c) -> view lock
 *	API lock -> block list lock | map lock | VRAM lock (leaves, none in another but the monitor's)
 *	API lock -> view lock (emu/kmod/view.c)
 * GPU slots and the record of events have leaf spinlocks.
 * Nothing waits for user memory under the API lock or the window lock.
 */
#ifndef _EMUGPU_API_H
#define _EMUGPU_API_H

#include <linux/atomic.h>
#include <linux/export.h>
#include <linux/types.h>

#include "emugpu.h"

/* How the calls of nv-p2p.h are exported; `make modules EMUGPU_GPL_ONLY=1` does as the open driver since 550.40. */
#ifdef EMUGPU_GPL_ONLY
#define EMUGPU_EXPORT(symbol) EXPORT_SYMBOL_GPL(symbol)
#else
#define EMUGPU_EXPORT(symbol) EXPORT_SYMBOL(symbol)
#endif

/* What happened since the module was loaded; for the TEST ioctl. */
struct emugpu_counters {
	atomic64_t get_calls;
	atomic64_t put_calls;
	atomic64_t callbacks;
};

extern struct emugpu_counters emugpu_counters;

void emugpu_api_lock(void);
void emugpu_api_unlock(void);
void emugpu_api_assert_held(void);

/* Runs a consumer's callback, of the pin with that table; API lock held. */
void emugpu_api_callback(void (*callback)(void *data), void *data, const void *table);

/* Whether the calling thread runs a callback */
bool emugpu_api_in_callback(void);

/*
 * Which callback runs: a number that no other call has, 0: none, or one that
 * is being delayed. And what function that is or was, and of which table. No
 * lock needed.
 */
u64 emugpu_api_running_callback(void);
const void *emugpu_api_callback_function(void);
const void *emugpu_api_callback_table(void);

/* The callback of that number, while it runs, waits for the calling thread. */
void emugpu_api_waits_for_caller(u64 callback);

/*
 * Before each wait for the API lock on behalf of a consumer. -EIO, and a report,
 * in a thread that would wait for itself: it runs a callback (and a WARN) or
 * one waits for it; else 0
 */
int emugpu_api_check_caller(void);

/* Sleep this long before each of the next @count callbacks, 0: of all, for tests that need a race to be wide. */
void emugpu_api_delay_callbacks(unsigned int ms, unsigned int count);

/* Makes the @nth call of that kind from now on fail with @error; 0: none. What was left of the last. API lock held. */
u32 emugpu_api_fail_nth(enum emugpu_test_call call, u32 nth, int error);

/* The error that this call shall fail with, or 0; API lock held. */
int emugpu_api_injected_error(enum emugpu_test_call call);

#endif

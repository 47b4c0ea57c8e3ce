/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The API lock: one for all GPUs, as in NVIDIA's driver. The thread that frees GPU memory holds the
 * API lock while the free callbacks run. So a consumer deadlocks if it takes a lock of its own both
 * in its callback and around nvidia_p2p_get_pages(). lockdep reports the deadlock, as
 * with NVIDIA's driver.
 *
 * Lock order
 *	reservation lock of a dma-buf -> API lock (emu/kmod/export.c)
 *	API lock -> window lock (emu/kmod/guard.c, stash.c) -> VRAM lock
 *	API lock -> window lock (emu/kmod/guard.c) -> view lock
 *	API lock -> block list lock | map lock | VRAM lock (leaves; only the monitor's lock nests in them)
 *	API lock -> view lock (emu/kmod/view.c)
 * GPU slots and the record of events have leaf spinlocks. No thread faults in user memory under the
 * API lock or the window lock.
 */
#ifndef _EMUGPU_API_H
#define _EMUGPU_API_H

#include <linux/atomic.h>
#include <linux/export.h>
#include <linux/types.h>

#include "emugpu.h"

/*
 * Exports a function of nv-p2p.h. EMUGPU_GPL_ONLY=1: to GPL modules only, as NVIDIA's open driver does from 550.40
 * on. In branch 535, version 535.261.03 does so, too.
 */
#ifdef EMUGPU_GPL_ONLY
#define EMUGPU_EXPORT(symbol) EXPORT_SYMBOL_GPL(symbol)
#else
#define EMUGPU_EXPORT(symbol) EXPORT_SYMBOL(symbol)
#endif

/* Counts since the module was loaded; for the TEST ioctl. */
struct emugpu_counters {
	atomic64_t get_calls;
	atomic64_t put_calls;
	atomic64_t callbacks;
	atomic64_t import_calls;	/* attempts to map a dma-buf */
};

extern struct emugpu_counters emugpu_counters;

void emugpu_api_lock(void);
void emugpu_api_unlock(void);
void emugpu_api_assert_held(void);

/* Runs the free callback of the pin with page table @table; API lock held. */
void emugpu_api_callback(void (*callback)(void *data), void *data, const void *table);

/* Whether the calling thread runs a free callback */
bool emugpu_api_in_callback(void);

/*
 * emugpu_api_running_callback(): unique number of the running callback; 0 if none runs or the
 * callback is still being delayed.
 * emugpu_api_callback_function(), emugpu_api_callback_table(): function and page table of the running
 * callback, or of the last callback if none runs.
 * No lock needed.
 */
u64 emugpu_api_running_callback(void);
const void *emugpu_api_callback_function(void);
const void *emugpu_api_callback_table(void);

/* Records that the callback with number @callback waits for the calling thread. */
void emugpu_api_waits_for_caller(u64 callback);

/*
 * Call before taking the API lock for a consumer. Returns 0; or reports a violation and
 * returns -EIO, if taking the lock would deadlock:
 *	- the thread runs a callback (also a WARN), or
 *	- the running callback waits for the thread.
 */
int emugpu_api_check_caller(void);

/* Sleeps before each of the next @count callbacks (0: all), to widen races in tests. */
void emugpu_api_delay_callbacks(unsigned int ms, unsigned int count);

/*
 * Makes the @nth such call from now on fail with @error; @nth 0: no call. Returns the number of calls
 * left until the failure planned before; 0: none is pending. API lock held.
 */
u32 emugpu_api_fail_nth(enum emugpu_test_call call, u32 nth, int error);

/* Counts a call. Returns the error to inject into this call, or 0. API lock held. */
int emugpu_api_injected_error(enum emugpu_test_call call);

#endif

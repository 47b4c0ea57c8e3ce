/* SPDX-License-Identifier: MIT */
/* Ranges of host memory that are registered with libibverbs, each with a watch of its pages */
#ifndef PP_UCM_RANGES_H
#define PP_UCM_RANGES_H

#include <stdbool.h>
#include <stdint.h>
#include "libpeerpin.h"
#include "lib/cache/range.h"

enum { PP_RANGES_BATCH = 256 };		/* ranges that one call of pp_ranges_changed() returns */

struct ibv_mr;

/* Opens /dev/peerpin. Call once, before the functions below. 0 or -errno */
int pp_ranges_init(void);

/* Is this the process that called pp_ranges_init()? In a child of fork(), do not call the functions below. */
bool pp_ranges_are_ours(void);

/* Call before the registration: memory that changes meanwhile changes the watch. 0 or -errno, as pp_watch() */
int pp_ranges_watch(const void *addr, size_t length, struct pp_watched *out, struct pp_why *why);

/* Call after the registration: stores the watch of @mr until pp_ranges_take(). -ENOMEM: the watch has ended. */
int pp_ranges_keep(const struct ibv_mr *mr, const struct pp_watched *watched);

/*
 * Call before the deregistration of @mr. Returns true and moves the watch of @mr to @out, or returns false if @mr has
 * no watch. Afterwards pass @out to pp_ranges_drop(), or to pp_ranges_keep() if the deregistration failed.
 */
bool pp_ranges_take(const struct ibv_mr *mr, struct pp_watched *out);

/* Ends the watch. */
void pp_ranges_drop(const struct pp_watched *watched);

/* ---- the thread ---------------------------------------------------------------------- */

/* Waits until it is time to call pp_ranges_changed(). False: pp_ranges_end() was called. */
bool pp_ranges_wait(void);

/* Stores at most PP_RANGES_BATCH ranges whose memory has changed at @out, each range once. Returns their number. */
uint32_t pp_ranges_changed(struct pp_range *out);

/* Ends the thread's wait. */
void pp_ranges_end(void);

#endif

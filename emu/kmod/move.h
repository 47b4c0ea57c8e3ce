/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Moves: an exporter may still copy memory to its place when an importer has mapped it. A fence in the reservation
 * object signals the end. A test sets how long that takes. Until then the memory has other contents, and a write to it
 * is DMA that did not wait for the fence. One move runs at a time.
 */
#ifndef _EMUGPU_MOVE_H
#define _EMUGPU_MOVE_H

#include <linux/types.h>

struct emugpu_consumer;
struct emugpu_exported;

/* Each later map by a dynamic importer begins a move of @ms milliseconds; 0: none. -EINVAL: @ms is above 1000. */
int emugpu_move_set(u32 ms);

/*
 * Begins a move of the memory that @consumer has just mapped, unless emugpu_move_set() has set none, another move runs,
 * or the memory has other users. Reservation lock held, API lock not held.
 */
void emugpu_move_begin(struct emugpu_exported *exported, const struct emugpu_consumer *consumer);

/* Whether a move runs. Window lock held, shared or not: no move begins meanwhile. */
bool emugpu_move_runs(void);

/* Waits for the end of the move. No lock held. */
void emugpu_move_wait(void);

/* No dma-buf exists any more. */
void emugpu_move_exit(void);

#endif

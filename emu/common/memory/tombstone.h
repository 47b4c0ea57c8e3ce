/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where pins are that have ended. A pin is buried, not freed: its table is filled
 * with 0x6b and stays findable until two thousand others of its kind have ended and
 * another pin is opened; and as long as a call is under way that began before its
 * end, or as its consumer has something of it to free. A consumer that reads the
 * table too late thus reads rubbish every time, and a put that lost the race against
 * the free callback (allowed) can be told from a second put.
 */
#ifndef _EMUGPU_GRAVES_H
#define _EMUGPU_GRAVES_H

#include <linux/list.h>
#include <linux/types.h>

#include "pin.h"

/* @pin has ended in this way. All here take the map lock themselves, but where they say otherwise. */
void emugpu_graves_bury(struct emugpu_pin *pin, enum emugpu_pin_state state);

/*
 * Clears those that nobody needs any more. Only as pins are opened: however many one
 * revocation buries, consumers that wait for its end, or come later on their own,
 * find them all. API lock and map lock held.
 */
void emugpu_graves_trim(void);

/* Clears the graves of one consumer, or of all for NULL, and looks at what it did with what is in them. */
void emugpu_graves_clear(const char *consumer);

/*
 * The process ends: no thread of it is on its way to free a table any more whose callback
 * knew it. Of one called back earlier, emugpu_graves_clear() says that it was never freed,
 * and until then it stays.
 */
void emugpu_graves_process_gone(const struct pid *process);

/*
 * Around a put or a mapping, which may wait for the API lock, taken within: pins
 * that are revoked meanwhile can still be found, however many they are.
 */
struct emugpu_graves_call {
	struct list_head node;
	u64 since;	/* so many pins had been buried before */
};

void emugpu_graves_call_begins(struct emugpu_graves_call *call);
void emugpu_graves_call_ends(struct emugpu_graves_call *call);

#endif

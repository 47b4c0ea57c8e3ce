/* SPDX-License-Identifier: MIT */
/* The emulated GPU driver's controls. All return 0 or -errno. */
#ifndef JUDGE_EMULATOR_H
#define JUDGE_EMULATOR_H

#include <stddef.h>
#include <stdint.h>

#include "emu/include/emugpu.h"
#include "plan.h"

enum { EMULATOR_EVENTS_MAX = 256 };

/** struct emulator_pins - how many there are, and the first line of the emulator's list */
struct emulator_pins {
	size_t nr;
	char first[192];
};

/** emulator_open - once, before all others */
int emulator_open(void);

/** emulator_set - as the scenario wants it: scatter, BAR1, version, delay, guard, fault, event */
int emulator_set(const struct scenario *scenario);

/** emulator_reset - as it was loaded */
int emulator_reset(void);

/** emulator_events - since emulator_set(); @out_count is of all, of which the first EMULATOR_EVENTS_MAX are in @out */
int emulator_events(struct emugpu_event *out, uint32_t *out_count);

/** emulator_event_name - the call that an event stands for */
const char *emulator_event_name(uint32_t kind);

/** emulator_has_failed - has the call come that emulator_set() made fail? No other fails from here on. */
bool emulator_has_failed(enum plan_fail fail);

/** emulator_asked - how often memory was to be pinned, in vain or not, since it was loaded */
int emulator_asked(uint64_t *out);

/** emulator_pins - what is pinned now */
int emulator_pins(struct emulator_pins *out);

#endif

/* SPDX-License-Identifier: MIT */
/* Controls of the emulated GPU driver. All functions return 0 or -errno. */
#ifndef JUDGE_EMULATOR_H
#define JUDGE_EMULATOR_H

#include <stddef.h>
#include <stdint.h>

#include "emu/include/emugpu.h"
#include "plan.h"

enum { EMULATOR_EVENTS_MAX = 256 };

/** struct emulator_pins - number of pins, and the first line of the emulator's list */
struct emulator_pins {
	size_t nr;
	char first[192];
};

/**
 * struct emulator_counts - numbers since the emulator was loaded
 * @asked: calls to pin memory, including failed calls
 * @callbacks: free callbacks that have returned
 * @notified: importers of dma-bufs that were notified of a free
 */
struct emulator_counts {
	uint64_t asked;
	uint64_t callbacks;
	uint64_t notified;
};

/** emulator_open - call once, before the other functions */
int emulator_open(void);

/** emulator_set - apply the scenario's settings: scatter, BAR1, version, delay, guard, fault and event */
int emulator_set(const struct scenario *scenario);

/** emulator_reset - restore the settings that the emulator had after loading */
int emulator_reset(void);

/** emulator_events - events since emulator_set(); @out_count: their number; @out: the first EMULATOR_EVENTS_MAX */
int emulator_events(struct emugpu_event *out, uint32_t *out_count);

/** emulator_event_name - name of the GPU driver's function; a call of it is an event of this kind */
const char *emulator_event_name(uint32_t kind);

/** emulator_has_failed - whether the planned failure happened; cancels a failure that did not happen yet */
bool emulator_has_failed(enum plan_fail fail);

int emulator_count(struct emulator_counts *out);

/** emulator_pins - the pins that exist now; @module: only its pins; NULL: all */
int emulator_pins(struct emulator_pins *out, const char *module);

#endif

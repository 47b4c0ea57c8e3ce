/* SPDX-License-Identifier: MIT */
/* Reports as findings: pins, references and memory left after the test's end and after the driver's removal. */
#ifndef JUDGE_LEFTOVER_H
#define JUDGE_LEFTOVER_H

#include <stdbool.h>

#include "driver.h"
#include "emu/judge/share.h"

/** leftover_pins - report pins and peerpin regions that are left after 2 s; returns 0 or -errno */
int leftover_pins(void);

/**
 * leftover_at_close - report pins of @driver that are left after 2 s, although no process has its device open
 *
 * Call when the test has closed all files of the driver and still lives. Returns 0 or -errno.
 */
int leftover_at_close(const struct driver *driver, const struct share *share);

/** leftover_note_uses - store the reference counts of peerpin and the emulator; call before the driver is loaded */
void leftover_note_uses(void);

/** leftover_uses - report references that are left 2 s after the driver was removed */
void leftover_uses(void);

/** leftover_misuse - report calls with an unregistered peer; returns 0 or -errno */
int leftover_misuse(void);

/** leftover_stop_waits - report a stop() that took long. True: there was one, so a free callback of peerpin took long, too */
bool leftover_stop_waits(const char *driver);

/** leftover_memory - report memory that the removed driver has not freed; returns 0 or -errno */
int leftover_memory(void);

/** leftover_damage - make the slab allocator check its objects; it logs each overwritten object */
void leftover_damage(void);

#endif

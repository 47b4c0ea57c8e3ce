/* SPDX-License-Identifier: MIT */
/* Reports as findings: pins, references and memory left after the test's end and after the driver's removal. */
#ifndef JUDGE_LEFTOVER_H
#define JUDGE_LEFTOVER_H

/** leftover_pins - pins and peerpin regions left; waits up to 2 s for late releases; 0 or -errno */
int leftover_pins(void);

/** leftover_note_uses - before the driver is loaded: note the use counts of the modules it uses */
void leftover_note_uses(void);

/** leftover_uses - after the driver was removed: compare the use counts; waits up to 2 s */
void leftover_uses(void);

/** leftover_misuse - calls with an unregistered peer; 0 or -errno */
int leftover_misuse(void);

/** leftover_memory - memory that the removed driver has not freed; 0 or -errno */
int leftover_memory(void);

/** leftover_damage - let the slab allocator check its objects; it logs overwritten ones */
void leftover_damage(void);

#endif

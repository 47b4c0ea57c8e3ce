/* SPDX-License-Identifier: MIT */
/* What is still there after the test has ended, and after the driver has gone: reported as findings. */
#ifndef JUDGE_LEFTOVER_H
#define JUDGE_LEFTOVER_H

/** leftover_pins - pins and regions of peerpin; waits a moment for those that go late; 0 or -errno */
int leftover_pins(void);

/** leftover_note_uses - before the driver is loaded: how often the modules below it are used */
void leftover_note_uses(void);

/** leftover_uses - when it has gone: whether they are used more often; waits a moment */
void leftover_uses(void);

/** leftover_misuse - what it called with a peer that it had unregistered; 0 or -errno */
int leftover_misuse(void);

/** leftover_memory - what the driver that has gone has allocated and not freed; 0 or -errno */
int leftover_memory(void);

/** leftover_damage - have the allocator look at all it has, so that the log tells what was overwritten */
void leftover_damage(void);

#endif

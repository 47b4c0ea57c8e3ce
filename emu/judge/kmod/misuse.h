/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Misuse: calls by the subject with a peer that is unregistered. A probe makes them
 * return -ENODEV without running: peerpin.ko would use the freed peer and crash the VM.
 */
#ifndef _JUDGE_MISUSE_H
#define _JUDGE_MISUSE_H

struct seq_file;

int judge_misuse_init(void);
void judge_misuse_exit(void);

/* Any context: @peer was registered, perhaps at the address of an unregistered peer. */
void judge_misuse_registered(const void *peer);

/* Writes "TIMES FUNCTION CALLER", with the first caller since the last reset, or nothing */
void judge_misuse_show(struct seq_file *seq);

void judge_misuse_reset(void);

#endif

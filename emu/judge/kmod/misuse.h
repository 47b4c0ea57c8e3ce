/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Misuse: calls of peerpin_attach() by the subject with an unregistered peer. A probe makes
 * such a call return -ENODEV at entry. Otherwise peerpin.ko would use the freed peer and
 * crash the VM.
 */
#ifndef _JUDGE_MISUSE_H
#define _JUDGE_MISUSE_H

struct seq_file;

int judge_misuse_init(void);
void judge_misuse_exit(void);

/* Call after @peer was registered: @peer may have the address of an unregistered peer. Any context. */
void judge_misuse_registered(const void *peer);

/* Writes "TIMES FUNCTION CALLER" with the first caller since the last reset; writes nothing without misuse */
void judge_misuse_show(struct seq_file *seq);

void judge_misuse_reset(void);

#endif

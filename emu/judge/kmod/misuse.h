/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Misuse: calls of the subject's with a peer that it has unregistered. They
 * return -ENODEV and do nothing: what they would look at has been freed, and the
 * machine would not live to tell.
 */
#ifndef _JUDGE_MISUSE_H
#define _JUDGE_MISUSE_H

struct seq_file;

int judge_misuse_init(void);
void judge_misuse_exit(void);

/* Any context: the subject has registered @peer, where one that is gone may have been. */
void judge_misuse_registered(const void *peer);

/* "TIMES FUNCTION CALLER" of the first since the last reset, or nothing */
void judge_misuse_show(struct seq_file *seq);

void judge_misuse_reset(void);

#endif

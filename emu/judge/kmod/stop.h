/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Times the stop() function of the subject's peers. peerpin calls stop() in the free callback, so a stop() that waits
 * makes the free wait.
 */
#ifndef _JUDGE_STOP_H
#define _JUDGE_STOP_H

struct seq_file;

int judge_stop_init(void);
void judge_stop_exit(void);

/* Writes "TIMES FUNCTION MS" with the longest time since the last reset; writes nothing if each stop() was short. */
void judge_stop_show(struct seq_file *seq);

void judge_stop_reset(void);

#endif

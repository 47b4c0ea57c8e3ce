/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls: probes in the allocators of the kernel. They count calls whose return
 * address lies in the subject, and can fail the n-th: the probe frees the memory at
 * once and returns an error to the subject. Calls inside another probe on the same
 * CPU are missed, but counted.
 */
#ifndef _JUDGE_CALL_H
#define _JUDGE_CALL_H

struct seq_file;

int judge_calls_init(void);
void judge_calls_exit(void);

/* Fails the @nth allocation from now on; 0: none. Restarts the counts. */
void judge_calls_fail(unsigned int nth);

/* Restarts the count of missed calls. */
void judge_calls_reset(void);

/* Writes "N allocations, M failed, L not seen": N and M since judge_calls_fail(), L since judge_calls_reset() */
void judge_calls_show(struct seq_file *seq);

/* Writes a line that begins with # for each reason why leaks since the last reset may be missing */
void judge_calls_show_unseen(struct seq_file *seq);

#endif

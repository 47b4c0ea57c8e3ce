/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls: probes in the allocators of the kernel. A probe counts each call that returns to
 * code of the subject. To fail the n-th call, the probe frees the memory at once
 * and returns an error to the subject. The probes miss a call made while another probe
 * runs on the same CPU; such calls are counted as missed.
 */
#ifndef _JUDGE_CALL_H
#define _JUDGE_CALL_H

struct seq_file;

int judge_calls_init(void);
void judge_calls_exit(void);

/* Fails the @nth allocation from now on; 0: no allocation. Restarts the counts. */
void judge_calls_fail(unsigned int nth);

/* Restarts the count of missed calls. */
void judge_calls_reset(void);

/* Writes "N allocations, M failed, L not seen": N and M since judge_calls_fail(), L since judge_calls_reset() */
void judge_calls_show(struct seq_file *seq);

/* Writes a line "# REASON" for each reason why the list of leaks may be incomplete */
void judge_calls_show_unseen(struct seq_file *seq);

#endif

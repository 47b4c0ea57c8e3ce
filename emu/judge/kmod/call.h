/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Calls: probes in the kernel's functions that allocate. An allocation
 * is the subject's when it is the subject that calls; the n-th of them can be
 * made to fail: what it got is given back at once, and it is told that there
 * was none. Calls that come while a probe runs on the same CPU are not seen, but
 * counted.
 */
#ifndef _JUDGE_CALL_H
#define _JUDGE_CALL_H

struct seq_file;

int judge_calls_init(void);
void judge_calls_exit(void);

/* The @nth allocation from now on fails; 0: none. Counting begins anew. */
void judge_calls_fail(unsigned int nth);

/* Forgets what was not seen. */
void judge_calls_reset(void);

/* "N allocations, M failed, L not seen" since then */
void judge_calls_show(struct seq_file *seq);

/* Lines that begin with #, or none: what may be wrong with the others since the last reset */
void judge_calls_show_unseen(struct seq_file *seq);

#endif

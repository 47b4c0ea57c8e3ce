/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Liberators: the kernel functions that free memory. Freed memory is no longer watched,
 * no matter which module frees it. No call is missed: unlike kprobes, ftrace also traces
 * calls by an interrupt that comes while a tracer runs.
 */
#ifndef _JUDGE_LIBERATOR_H
#define _JUDGE_LIBERATOR_H

/* Returns 0 or -errno. On error, logs the name of the function that cannot be traced. */
int judge_liberators_init(void);
void judge_liberators_exit(void);

#endif

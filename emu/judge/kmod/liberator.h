/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Liberators: the kernel functions that free. Memory freed by any caller is no longer
 * watched. No call is missed: unlike kprobes, ftrace can trace an interrupt that comes
 * in the middle of a tracer.
 */
#ifndef _JUDGE_LIBERATOR_H
#define _JUDGE_LIBERATOR_H

/* Returns 0, or -errno after a log message with the function that cannot be traced. */
int judge_liberators_init(void);
void judge_liberators_exit(void);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Liberators: the kernel's functions that free. What they are given is watched no
 * more, whoever calls them. None is missed: ftrace tells an interrupt in the middle
 * of a tracer from what that tracer calls, which kprobes do not.
 */
#ifndef _JUDGE_LIBERATOR_H
#define _JUDGE_LIBERATOR_H

/* 0, or -errno and the log says which function is not there. */
int judge_liberators_init(void);
void judge_liberators_exit(void);

#endif

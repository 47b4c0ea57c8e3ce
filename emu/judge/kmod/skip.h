/* SPDX-License-Identifier: GPL-2.0 */
/* Skip: a probe at a function's first instruction keeps its caller from calling it. */
#ifndef _JUDGE_SKIP_H
#define _JUDGE_SKIP_H

#include <linux/kprobes.h>

/* To be called, and its value returned, by the pre-handler: @result is what the caller is told. */
int judge_skip(struct pt_regs *regs, long result);

/*
 * Such a probe's post-handler: a probe that has one is not optimised into a
 * jump, which would go on at the old place all the same. Those that ftrace makes
 * never are, and with one could not share the function with others without.
 */
#ifdef CONFIG_KPROBES_ON_FTRACE
#define JUDGE_SKIP_POST NULL
#else
#define JUDGE_SKIP_POST judge_skip_post
void judge_skip_post(struct kprobe *probe, struct pt_regs *regs, unsigned long flags);
#endif

#endif

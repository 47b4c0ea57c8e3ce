/* SPDX-License-Identifier: GPL-2.0 */
/* Skip: a probe at a function's first instruction makes the function return at once. */
#ifndef _JUDGE_SKIP_H
#define _JUDGE_SKIP_H

#include <linux/kprobes.h>

/* The probe's pre-handler must return the value of judge_skip(). The probed function returns @result. */
int judge_skip(struct pt_regs *regs, long result);

/*
 * Post-handler of a probe that calls judge_skip(). The kernel optimises a probe without a
 * post-handler into a jump, which would ignore the changed ip. Probes on ftrace are never
 * optimised and have no post-handler: with a post-handler, such a probe could not share a
 * function with a probe without a post-handler.
 */
#ifdef CONFIG_KPROBES_ON_FTRACE
#define JUDGE_SKIP_POST NULL
#else
#define JUDGE_SKIP_POST judge_skip_post
void judge_skip_post(struct kprobe *probe, struct pt_regs *regs, unsigned long flags);
#endif

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* Skip: a probe at the first instruction of a function returns to the caller without running it. */
#ifndef _JUDGE_SKIP_H
#define _JUDGE_SKIP_H

#include <linux/kprobes.h>

/* The pre-handler calls this and returns its value; the caller gets @result. */
int judge_skip(struct pt_regs *regs, long result);

/*
 * Post-handler of such a probe. It keeps the kernel from optimising the probe into a
 * jump, which would ignore the changed ip. Probes on ftrace are never optimised, and
 * with a post-handler they could not share a function with probes that have none.
 */
#ifdef CONFIG_KPROBES_ON_FTRACE
#define JUDGE_SKIP_POST NULL
#else
#define JUDGE_SKIP_POST judge_skip_post
void judge_skip_post(struct kprobe *probe, struct pt_regs *regs, unsigned long flags);
#endif

#endif

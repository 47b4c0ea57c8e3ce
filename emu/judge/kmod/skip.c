// SPDX-License-Identifier: GPL-2.0
#include <linux/compiler.h>

#include "skip.h"

/*
 * Runs instead of the probed function and leaves the result register unchanged.
 * noinstr: instrumentation could change that register.
 */
static noinstr void return_at_once(void)
{
	barrier();
}

int judge_skip(struct pt_regs *regs, long result)
{
	regs_set_return_value(regs, result);
	regs->ip = (unsigned long)return_at_once;
	return 1;
}
NOKPROBE_SYMBOL(judge_skip);

#ifndef CONFIG_KPROBES_ON_FTRACE
void judge_skip_post(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}
NOKPROBE_SYMBOL(judge_skip_post);
#endif

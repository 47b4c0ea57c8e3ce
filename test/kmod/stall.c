// SPDX-License-Identifier: GPL-2.0
/*
 * Makes a function of the kernel late: a probe at its first instruction sends each call to run_late(), which
 * sleeps and then calls the function. The function may sleep, and has at most six arguments.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>

static char *function;
module_param(function, charp, 0444);
MODULE_PARM_DESC(function, "the function");

static unsigned int ms;
module_param(ms, uint, 0444);
MODULE_PARM_DESC(ms, "milliseconds that a call sleeps");

static atomic_t stalled = ATOMIC_INIT(0);
module_param_named(stalled, stalled.counter, int, 0444);
MODULE_PARM_DESC(stalled, "read: number of calls that have begun to sleep");

static struct kprobe probe;
static atomic_t calls;		/* in run_late() */

static unsigned long run_late(unsigned long a, unsigned long b, unsigned long c, unsigned long d, unsigned long e,
			      unsigned long f)
{
	unsigned long (*late)(unsigned long, unsigned long, unsigned long, unsigned long, unsigned long,
			      unsigned long) = (void *)probe.addr;
	unsigned long result;

	atomic_inc(&calls);
	atomic_inc(&stalled);
	msleep(ms);
	result = late(a, b, c, d, e, f);
	atomic_dec(&calls);
	return result;
}

/* At the first instruction the return address is on top of the stack. The call by run_late() goes on. */
static int redirect(struct kprobe *p, struct pt_regs *regs)
{
	if (within_module(*(unsigned long *)regs->sp, THIS_MODULE))
		return 0;
	regs->ip = (unsigned long)run_late;
	return 1;
}
NOKPROBE_SYMBOL(redirect);

static int __init stall_init(void)
{
	probe.symbol_name = function;
	probe.pre_handler = redirect;
	return register_kprobe(&probe);
}

static void __exit stall_exit(void)
{
	unregister_kprobe(&probe);
	while (atomic_read(&calls))
		msleep(20);
	msleep(20);	/* the last call returns */
}

module_init(stall_init);
module_exit(stall_exit);
MODULE_DESCRIPTION("peerpin test: makes a function of the kernel late");
MODULE_LICENSE("GPL");

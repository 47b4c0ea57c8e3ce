// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "misuse.h"
#include "object.h"
#include "subject.h"

enum { NAME_LEN = 64 };

/* The first, and how many; the caller as a name, since the subject has gone when it is asked for */
static DEFINE_RAW_SPINLOCK(lock);
static unsigned int times;
static char first_caller[NAME_LEN];

static void note(unsigned long caller)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	if (!times++)
		snprintf(first_caller, NAME_LEN, "%pS", (void *)caller);
	raw_spin_unlock_irqrestore(&lock, flags);
}

/* In place of the function that was called: returns to its caller, with what is in the register. */
static noinline notrace void return_at_once(void)
{
	barrier();
}

/*
 * peerpin_attach(peer, region); its return address is on top of the stack: this
 * probe comes before that of call.c, which puts another one there, since what is
 * registered later comes first.
 */
static int attaching(struct kprobe *probe, struct pt_regs *regs)
{
	unsigned long caller = *(unsigned long *)regs->sp;

	if (!judge_subject_has(caller) || judge_object_has((void *)regs->di))
		return 0;
	note(caller);
	regs_set_return_value(regs, -ENODEV);
	regs->ip = (unsigned long)return_at_once;
	return 1;
}
NOKPROBE_SYMBOL(attaching);

static struct kprobe attach_probe = { .symbol_name = "peerpin_attach", .pre_handler = attaching };

void judge_misuse_show(struct seq_file *seq)
{
	char caller[NAME_LEN];
	unsigned long flags;
	unsigned int n;

	raw_spin_lock_irqsave(&lock, flags);
	n = times;
	strscpy(caller, first_caller, NAME_LEN);
	raw_spin_unlock_irqrestore(&lock, flags);
	if (n)
		seq_printf(seq, "%u %s %s\n", n, attach_probe.symbol_name, caller);
}

void judge_misuse_reset(void)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	times = 0;
	raw_spin_unlock_irqrestore(&lock, flags);
}

/* Without peerpin.ko nobody can call it. */
int judge_misuse_init(void)
{
	int err = register_kprobe(&attach_probe);

	if (err)
		attach_probe.symbol_name = NULL;
	return err == -ENOENT ? 0 : err;
}

void judge_misuse_exit(void)
{
	if (attach_probe.symbol_name)
		unregister_kprobe(&attach_probe);
}

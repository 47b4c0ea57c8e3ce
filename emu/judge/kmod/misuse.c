// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/lockdep.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "misuse.h"
#include "skip.h"
#include "subject.h"

enum {
	NAME_LEN = 64,
	GONE_MAX = 64,
};

/* Number of misuses, and the name of the first caller: after the subject's unload an address could not be named. */
static DEFINE_RAW_SPINLOCK(lock);
static unsigned int times;
static char first_caller[NAME_LEN];

/* Addresses of the last unregistered peers. Registering a peer removes its address. Protected by @lock. */
static const void *gone[GONE_MAX];
static unsigned int next_gone;

static void note(unsigned long caller)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	if (!times++)
		snprintf(first_caller, NAME_LEN, "%pS", (void *)caller);
	raw_spin_unlock_irqrestore(&lock, flags);
}

static bool is_gone(const void *peer)
{
	unsigned long flags;
	unsigned int i;
	bool is = false;

	raw_spin_lock_irqsave(&lock, flags);
	for (i = 0; i < GONE_MAX; i++)
		is |= gone[i] == peer;
	raw_spin_unlock_irqrestore(&lock, flags);
	return peer && is;
}

static void replace(const void *old, const void *new)
{
	unsigned int i;

	lockdep_assert_held(&lock);
	for (i = 0; i < GONE_MAX; i++)
		if (gone[i] == old)
			gone[i] = new;
}

/* Probe of peerpin_peer_unregister(peer) */
static int unregistering(struct kprobe *probe, struct pt_regs *regs)
{
	const void *peer = (void *)regs->di;
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	replace(peer, NULL);
	gone[next_gone++ % GONE_MAX] = peer;
	raw_spin_unlock_irqrestore(&lock, flags);
	return 0;
}
NOKPROBE_SYMBOL(unregistering);

/* call.c's kretprobe calls this. A second kretprobe here would hide the caller's address from call.c. */
void judge_misuse_registered(const void *peer)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	replace(peer, NULL);
	raw_spin_unlock_irqrestore(&lock, flags);
}
NOKPROBE_SYMBOL(judge_misuse_registered);

/*
 * Probe of peerpin_attach(peer, region). The caller's address is on top of the stack:
 * this probe was registered last, so it runs before the kretprobe of call.c, which
 * replaces that address.
 */
static int attaching(struct kprobe *probe, struct pt_regs *regs)
{
	unsigned long caller = *(unsigned long *)regs->sp;

	if (!judge_subject_has(caller) || !is_gone((void *)regs->di))
		return 0;
	note(caller);
	return judge_skip(regs, -ENODEV);
}
NOKPROBE_SYMBOL(attaching);

static struct kprobe attach_probe = {
	.symbol_name = "peerpin_attach",
	.pre_handler = attaching,
	.post_handler = JUDGE_SKIP_POST,
};

static struct kprobe unregister_probe = {
	.symbol_name = "peerpin_peer_unregister",
	.pre_handler = unregistering,
};

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
	memset(gone, 0, sizeof(gone));
	raw_spin_unlock_irqrestore(&lock, flags);
}

static bool is_probed;

/* -ENOENT: peerpin.ko is not loaded, so there is no call to check. */
int judge_misuse_init(void)
{
	int err = register_kprobe(&unregister_probe);

	if (err)
		return err == -ENOENT ? 0 : err;
	err = register_kprobe(&attach_probe);
	if (err)
		unregister_kprobe(&unregister_probe);
	is_probed = !err;
	return err;
}

void judge_misuse_exit(void)
{
	if (!is_probed)
		return;
	unregister_kprobe(&attach_probe);
	unregister_kprobe(&unregister_probe);
}

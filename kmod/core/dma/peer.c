// SPDX-License-Identifier: GPL-2.0
#include <linux/device.h>
#include <linux/export.h>
#include <linux/err.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "attach.h"
#include "peer.h"

/*
 * All registered peers, for debugfs and proc. No lock is taken under peers_lock.
 * @gone: counts of peers that were unregistered; under peers_lock
 */
static DEFINE_MUTEX(peers_lock);
static LIST_HEAD(peers);
static struct pp_peer_counts gone;

static void peer_free(struct peerpin_peer *peer)
{
	free_percpu(peer->counts);
	kfree(peer->name);
	kfree(peer);
}

static struct peerpin_peer *peer_alloc(struct device *dev)
{
	struct peerpin_peer *peer = kzalloc(sizeof(*peer), GFP_KERNEL);

	if (!peer)
		return NULL;
	peer->name = kstrdup(dev_name(dev), GFP_KERNEL);
	peer->counts = alloc_percpu(struct pp_peer_counts);
	if (peer->name && peer->counts)
		return peer;
	peer_free(peer);
	return NULL;
}

static void peer_list(struct peerpin_peer *peer)
{
	mutex_lock(&peers_lock);
	list_add_tail(&peer->in_peers, &peers);
	mutex_unlock(&peers_lock);
}

static struct pp_peer_counts peer_sum(const struct peerpin_peer *peer)
{
	struct pp_peer_counts sum = {};
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct pp_peer_counts *c = per_cpu_ptr(peer->counts, cpu);

		sum.begun += READ_ONCE(c->begun);
		sum.transfers += READ_ONCE(c->transfers);
		sum.bytes += READ_ONCE(c->bytes);
	}
	return sum;
}

static void peer_add_counts(struct pp_peer_counts *to, const struct peerpin_peer *peer)
{
	struct pp_peer_counts sum = peer_sum(peer);

	to->transfers += sum.transfers;
	to->bytes += sum.bytes;
}

/* The peer has no DMA in flight, so its counts are final. */
static void peer_unlist(struct peerpin_peer *peer)
{
	mutex_lock(&peers_lock);
	list_del(&peer->in_peers);
	peer_add_counts(&gone, peer);
	mutex_unlock(&peers_lock);
}

struct peerpin_peer *peerpin_peer_register(struct device *dev,
					   const struct peerpin_peer_ops *ops,
					   void *data)
{
	struct peerpin_peer *peer = peer_alloc(dev);

	if (!peer)
		return ERR_PTR(-ENOMEM);
	kref_init(&peer->ref);
	peer->dev = dev;
	peer->ops = ops;
	peer->data = data;
	spin_lock_init(&peer->lock);
	INIT_LIST_HEAD(&peer->attaches);
	init_waitqueue_head(&peer->idle);
	peer_list(peer);
	return peer;
}
EXPORT_SYMBOL_GPL(peerpin_peer_register);

static void peer_release(struct kref *ref)
{
	peer_free(container_of(ref, struct peerpin_peer, ref));
}

void pp_peer_put(struct peerpin_peer *peer)
{
	kref_put(&peer->ref, peer_release);
}

int pp_peer_enter(struct peerpin_peer *peer)
{
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&peer->lock, flags);
	if (peer->dying)
		ret = -ENODEV;
	else
		peer->users++;
	spin_unlock_irqrestore(&peer->lock, flags);
	return ret;
}

void pp_peer_leave(struct peerpin_peer *peer)
{
	spin_lock_irq(&peer->lock);
	if (!--peer->users)
		wake_up_all(&peer->idle);
	spin_unlock_irq(&peer->lock);
}

static bool peer_is_zero(struct peerpin_peer *peer, const unsigned int *count)
{
	bool zero;

	spin_lock_irq(&peer->lock);
	zero = !*count;
	spin_unlock_irq(&peer->lock);
	return zero;
}

static unsigned int peer_count(struct peerpin_peer *peer)
{
	unsigned int n;

	spin_lock_irq(&peer->lock);
	n = peer->count;
	spin_unlock_irq(&peer->lock);
	return n;
}

/* Takes a reference to the first attachment, moves it to the end of the list, and returns it. */
static struct peerpin_attach *peer_next(struct peerpin_peer *peer)
{
	struct peerpin_attach *a;

	spin_lock_irq(&peer->lock);
	a = list_first_entry_or_null(&peer->attaches, struct peerpin_attach,
				     in_peer);
	if (a) {
		pp_ref_get(&a->ref);
		list_move_tail(&a->in_peer, &peer->attaches);
	}
	spin_unlock_irq(&peer->lock);
	return a;
}

/* All stop() calls come before the first wait: some engines can finish transfers only in order. */
static void peer_stop_all(struct peerpin_peer *peer)
{
	unsigned int n = peer_count(peer);
	struct peerpin_attach *a;

	for (; n && (a = peer_next(peer)); n--) {
		pp_attach_stop(a);
		peerpin_attach_put(a);
		cond_resched();
	}
}

/*
 * Once @dying is set, no attachment is added to the list and no DMA begins, so the loop below ends.
 * The end of a region may drop an attachment at the same time, even with DMA in flight. @users
 * counts the thread that drops the attachment, and @strays counts the attachment. So after the last
 * two waits no thread uses the device or the driver.
 */
void peerpin_peer_unregister(struct peerpin_peer *peer)
{
	struct peerpin_attach *a;

	spin_lock_irq(&peer->lock);
	WRITE_ONCE(peer->dying, true);
	spin_unlock_irq(&peer->lock);
	/* wait for threads that are mapping: each lists its attachment or undoes the mapping */
	wait_event(peer->idle, peer_is_zero(peer, &peer->users));

	peer_stop_all(peer);
	while ((a = peer_next(peer))) {
		wait_event(peer->idle, pp_attach_is_idle(a));
		pp_attach_drop(a);
		peerpin_attach_put(a);
		cond_resched();
	}
	wait_event(peer->idle, peer_is_zero(peer, &peer->strays));
	wait_event(peer->idle, peer_is_zero(peer, &peer->users));
	peer_unlist(peer);
	pp_peer_put(peer);
}
EXPORT_SYMBOL_GPL(peerpin_peer_unregister);

static void peer_show_name(struct seq_file *m, const struct peerpin_peer *peer)
{
	seq_escape(m, peer->name, " \t\n\\\033");
}

static void peer_show(struct seq_file *m, struct peerpin_peer *peer)
{
	struct pp_peer_counts sum = peer_sum(peer);

	peer_show_name(m, peer);
	seq_printf(m, " %llu %llu %llu\n", sum.transfers, sum.bytes,
		   max(sum.begun, sum.transfers) - sum.transfers);
}

void pp_peers_show(struct seq_file *m)
{
	struct peerpin_peer *peer;

	mutex_lock(&peers_lock);
	list_for_each_entry(peer, &peers, in_peers)
		peer_show(m, peer);
	mutex_unlock(&peers_lock);
}

static void peer_show_counts(struct seq_file *m, const struct peerpin_peer *peer)
{
	struct pp_peer_counts sum = peer_sum(peer);

	seq_puts(m, "peer ");
	peer_show_name(m, peer);
	seq_printf(m, " %llu %llu %llu\n", sum.transfers, sum.bytes, (u64)atomic64_read(&peer->timeouts));
}

void pp_peers_show_counts(struct seq_file *m)
{
	struct peerpin_peer *peer;
	struct pp_peer_counts all;

	mutex_lock(&peers_lock);
	all = gone;
	list_for_each_entry(peer, &peers, in_peers)
		peer_add_counts(&all, peer);
	seq_printf(m, "transfers %llu\ntransfer_bytes %llu\n", all.transfers, all.bytes);
	list_for_each_entry(peer, &peers, in_peers)
		peer_show_counts(m, peer);
	mutex_unlock(&peers_lock);
}

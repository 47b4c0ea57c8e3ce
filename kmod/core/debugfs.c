// SPDX-License-Identifier: GPL-2.0
#include <linux/debugfs.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "account.h"
#include "attach.h"
#include "cookie.h"
#include "debugfs.h"
#include "extents.h"
#include "peer.h"
#include "region.h"

static struct dentry *dir;

static const char *const state_names[] = {
	[PP_PINNING] = "pinning",
	[PP_LIVE] = "live",
	[PP_REVOKED] = "revoked",
	[PP_CLOSED] = "closed",
};

/**
 * struct snapshot - what a region's lock protects
 * @extents: 0 before something is mapped
 * @viewed: by the CPU, at some time; not once the region has ended
 * @id: as the region's
 */
struct snapshot {
	enum pp_region_state state;
	u32 extents;
	unsigned int exports;
	bool viewed;
	u32 id;
};

static void region_snap(struct peerpin_region *r, struct snapshot *s)
{
	struct list_head *each;

	*s = (struct snapshot){};
	spin_lock_irq(&r->lock);
	s->state = r->state;
	s->extents = r->extents.at ? r->extents.count : 0;
	s->viewed = r->cpumap;
	s->id = READ_ONCE(r->id);
	list_for_each(each, &r->exports)
		s->exports++;
	spin_unlock_irq(&r->lock);
}

/* What the core keeps for it beside the mappings, about */
static size_t region_records(const struct peerpin_region *r, u32 extents)
{
	return sizeof(*r) + r->provider->priv_size +
	       kmalloc_size_roundup(array_size(extents, sizeof(*r->extents.at)));
}

/* A name must not look like two columns, nor like an order to a terminal. */
static void show_owner(struct seq_file *m, struct pid *owner)
{
	struct task_struct *task = get_pid_task(owner, PIDTYPE_TGID);
	char comm[TASK_COMM_LEN] = "";

	if (task) {
		get_task_comm(comm, task);
		put_task_struct(task);
	}
	seq_printf(m, "%d ", pid_nr(owner));
	seq_escape(m, comm[0] ? comm : "-", " \t\n\\\033");
}

static void show_region(struct seq_file *m, struct peerpin_region *r)
{
	struct snapshot s;

	region_snap(r, &s);
	show_owner(m, pp_account_owner(r->account));
	seq_printf(m, " %s %s %s 0x%llx %llu %llu %u %zu %zu ", r->provider->name,
		   pp_provider_flags(r->provider), state_names[s.state],
		   r->addr, r->length, pp_region_age_ms(r), s.extents,
		   region_records(r, s.extents), pp_attach_bytes(r));
	pp_attach_show(r, m);
	seq_printf(m, " %u %d ", s.exports, s.viewed);
	if (s.id)
		seq_printf(m, "%u\n", s.id - 1);
	else
		seq_puts(m, "-\n");
}

/* The position is one behind the place of a region's cookie; 0: the header. */
static void *regions_at(loff_t *pos, u64 place)
{
	struct peerpin_region *r = pp_cookie_next(&place);

	*pos = place;
	return r;
}

static void *regions_start(struct seq_file *m, loff_t *pos)
{
	return *pos ? regions_at(pos, *pos - 1) : SEQ_START_TOKEN;
}

static void regions_stop(struct seq_file *m, void *v)
{
	if (v && v != SEQ_START_TOKEN)
		pp_region_put(v);
}

static void *regions_next(struct seq_file *m, void *v, loff_t *pos)
{
	regions_stop(m, v);
	return regions_at(pos, *pos);
}

static int regions_show(struct seq_file *m, void *v)
{
	if (v == SEQ_START_TOKEN)
		seq_puts(m, "pid comm provider flags state addr length since_ms extents records_bytes maps_bytes devices exports viewed id\n");
	else
		show_region(m, v);
	return 0;
}

static const struct seq_operations regions_sops = {
	.start = regions_start,
	.next = regions_next,
	.stop = regions_stop,
	.show = regions_show,
};
DEFINE_SEQ_ATTRIBUTE(regions);

static int accounts_show(struct seq_file *m, void *unused)
{
	seq_puts(m, "pid bytes regions pins revoked\n");
	pp_accounts_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(accounts);

static int peers_show(struct seq_file *m, void *unused)
{
	seq_puts(m, "device transfers bytes inflight\n");
	pp_peers_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(peers);

void pp_debugfs_init(void)
{
	dir = debugfs_create_dir("peerpin", NULL);
	debugfs_create_file("regions", 0400, dir, NULL, &regions_fops);
	debugfs_create_file("accounts", 0400, dir, NULL, &accounts_fops);
	debugfs_create_file("peers", 0400, dir, NULL, &peers_fops);
}

void pp_debugfs_exit(void)
{
	debugfs_remove(dir);
}

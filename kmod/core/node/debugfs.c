// SPDX-License-Identifier: GPL-2.0
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/seq_file.h>
#include "../region/account.h"
#include "../dma/attach.h"
#include "../region/cookie.h"
#include "debugfs.h"
#include "../region/extents.h"
#include "../dma/peer.h"
#include "../region/region.h"

static struct dentry *dir;

static const char *region_state_name(const struct peerpin_region *r)
{
	enum pp_region_state state = READ_ONCE(r->state);

	if (state > PP_LIVE)
		return READ_ONCE(r->cause) == PP_REVOKED ? "revoked" : "closed";
	return state == PP_LIVE ? "live" : "pinning";
}

static void show_region(struct seq_file *m, struct peerpin_region *r)
{
	u32 id = READ_ONCE(r->id);

	seq_printf(m, "%d %s %s %s 0x%llx %llu %llu %u ", pid_nr(pp_account_owner(r->account)),
		   r->provider->name, pp_provider_flags(r->provider),
		   region_state_name(r), r->addr, r->length, pp_region_age_ms(r),
		   pp_extents_counted(r));
	pp_attach_show(r, m);
	if (id)
		seq_printf(m, " %u\n", id - 1);
	else
		seq_puts(m, " -\n");
}

/* A position is 0 for the header, else 1 + the place of the region's cookie in the table. */
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
		seq_puts(m, "pid provider flags state addr length since_ms extents devices id\n");
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
	seq_puts(m, "pid bytes regions pins revoked watched\n");
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

// SPDX-License-Identifier: GPL-2.0
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include "../dma/peer.h"
#include "../region/account.h"
#include "../region/counts.h"
#include "proc.h"

static struct proc_dir_entry *entry;

/* Prints sums only, and no process and no address, because all users can read the file. */
static int counts_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "bytes %llu\n", pp_account_total_bytes());
	pp_counts_show(m);
	pp_peers_show_counts(m);
	return 0;
}

/* Ignores a failure: without the file only monitoring lacks its counts. */
void pp_proc_init(void)
{
	entry = proc_create_single("driver/peerpin", 0444, NULL, counts_show);
}

void pp_proc_exit(void)
{
	proc_remove(entry);
}

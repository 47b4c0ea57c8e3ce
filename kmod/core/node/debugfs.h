/* SPDX-License-Identifier: GPL-2.0 */
/* Lists of regions, processes and peers, for root: /sys/kernel/debug/peerpin. */
#ifndef _PEERPIN_DEBUGFS_H
#define _PEERPIN_DEBUGFS_H

void pp_debugfs_init(void);
void pp_debugfs_exit(void);	/* returns when all readers are done */

#endif

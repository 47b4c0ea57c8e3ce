/* SPDX-License-Identifier: GPL-2.0 */
/* Who pins what, for administrators: /sys/kernel/debug/peerpin. */
#ifndef _PEERPIN_DEBUGFS_H
#define _PEERPIN_DEBUGFS_H

void pp_debugfs_init(void);
void pp_debugfs_exit(void);	/* nobody reads when it returns */

#endif

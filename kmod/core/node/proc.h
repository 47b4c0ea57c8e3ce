/* SPDX-License-Identifier: GPL-2.0 */
/* Counts for monitoring, which all users can read: /proc/driver/peerpin. */
#ifndef _PEERPIN_PROC_H
#define _PEERPIN_PROC_H

void pp_proc_init(void);
void pp_proc_exit(void);	/* returns when all readers are done */

#endif

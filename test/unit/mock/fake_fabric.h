/* SPDX-License-Identifier: MIT */
#ifndef FAKE_FABRIC_H
#define FAKE_FABRIC_H

enum { FAKE_LEFT = 255 };	/* status of a process that ends while a monitor is imported */

/* The imported monitor, or NULL */
struct fid_mem_monitor *fake_monitor(void);

#endif

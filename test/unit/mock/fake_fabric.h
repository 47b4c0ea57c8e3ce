/* SPDX-License-Identifier: MIT */
#ifndef FAKE_FABRIC_H
#define FAKE_FABRIC_H

#include <stdint.h>

enum { FAKE_LEFT = 255 };	/* status of a process that ends while a monitor is imported */

/* The imported monitor, or NULL */
struct fid_mem_monitor *fake_monitor(void);

/* What fi_version() returns: 1.17, if no test changes it */
extern uint32_t fake_version;

#endif

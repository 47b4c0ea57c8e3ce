/* SPDX-License-Identifier: GPL-2.0 */
/* The control node, /dev/emugpu. */
#ifndef _EMUGPU_CONTROL_H
#define _EMUGPU_CONTROL_H

#include <linux/types.h>

struct pid;

/* One open file. @owner is the process that opened it, not its number, which can come back. */
struct emugpu_client {
	struct pid *owner;
};

int emugpu_control_register(void);
void emugpu_control_unregister(void);

u32 emugpu_control_clients(void);

#endif

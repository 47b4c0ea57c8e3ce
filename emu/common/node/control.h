/* SPDX-License-Identifier: GPL-2.0 */
/* The control node, /dev/emugpu. */
#ifndef _EMUGPU_CONTROL_H
#define _EMUGPU_CONTROL_H

int emugpu_control_register(void);
void emugpu_control_unregister(void);

#endif

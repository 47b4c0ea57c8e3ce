/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Time that the VM ran. A busy host stops a VM's processors for many milliseconds, and the clocks of the kernel do not
 * show it. A periodic timer does: its function runs once after each stop, whatever the stop's length.
 */
#ifndef _EMUGPU_VMTIME_H
#define _EMUGPU_VMTIME_H

#include <linux/types.h>

/* @period_us: what a stop of the VM counts at most. API lock held until emugpu_vmtime_end(). */
void emugpu_vmtime_begin(unsigned int period_us);

/* Nanoseconds since emugpu_vmtime_begin() */
s64 emugpu_vmtime_end(void);

#endif

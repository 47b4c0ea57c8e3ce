/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The time during which the VM ran. A busy host stops a VM's processors for many milliseconds, and the clocks of the
 * kernel count this time. A periodic timer shows the stops: after each stop its function runs once, whatever the
 * length of the stop.
 */
#ifndef _EMUGPU_VMTIME_H
#define _EMUGPU_VMTIME_H

#include <linux/types.h>

/*
 * @period_us: period of the timer; a stop of the VM counts as at most this time. API lock held until
 * emugpu_vmtime_end().
 */
void emugpu_vmtime_begin(unsigned int period_us);

/* Nanoseconds since emugpu_vmtime_begin() */
s64 emugpu_vmtime_end(void);

#endif

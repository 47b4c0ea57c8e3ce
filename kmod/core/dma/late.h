/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Names of devices that still use the memory of an ended region at the deadline. They are copied under region->lock and
 * printed after its release: interrupts are off under the lock, and a serial console takes milliseconds a line.
 */
#ifndef _PEERPIN_LATE_H
#define _PEERPIN_LATE_H

#include <linux/device.h>
#include <linux/kernel.h>
#include <linux/ratelimit.h>

enum {
	PP_LATE_MAX = DEFAULT_RATELIMIT_BURST,	/* pr_err_ratelimited() prints no more lines at a time */
	PP_LATE_BYTES = 64,
};

/**
 * struct pp_late - the first devices that were noted; on the stack
 * @device: names, each with the name of the device's driver; cut at PP_LATE_BYTES
 */
struct pp_late {
	unsigned int count;
	char device[PP_LATE_MAX][PP_LATE_BYTES];
};

/* Any context. The caller prevents the removal of @dev and of its driver. */
static inline void pp_late_note(struct pp_late *late, const struct device *dev)
{
	if (late->count < PP_LATE_MAX)
		scnprintf(late->device[late->count++], PP_LATE_BYTES, "%s (%s)", dev_name(dev), dev_driver_string(dev));
}

#endif

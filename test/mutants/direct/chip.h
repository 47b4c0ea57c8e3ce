/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _DIRECT_CHIP_H
#define _DIRECT_CHIP_H

#include <linux/kref.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include "engine.h"

/**
 * struct direct - the chip
 * @ref: one reference each for the driver, each open file and each pin
 * @dead: true: the chip is being removed; changes under @pinning and the engine's lock
 * @pinning: held around all calls of the GPU driver: no new table gets the address of a table that
 *	this driver is about to put. The callback never takes this lock.
 */
struct direct {
	struct kref ref;
	struct pci_dev *pdev;
	struct direct_engine engine;
	struct miscdevice misc;
	struct mutex pinning;
	bool dead;
};

void direct_free(struct kref *ref);

#endif

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
 * @ref: references of the driver, of each open file and of each pin
 * @dead: the chip is being removed; changes under @pinning and the engine's lock
 * @pinning: held around all calls of the GPU driver, so that no new table gets
 *	the address of a table that is about to be put. The callback never takes it.
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

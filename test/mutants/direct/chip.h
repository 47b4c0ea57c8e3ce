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
 * @ref: the driver's, each open file's and each pin's
 * @dead: it is being removed; changes under @pinning and the engine's lock
 * @pinning: around all that calls the GPU's driver, so that no new table has
 *	the address of one that is about to be put. The callback never takes it.
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

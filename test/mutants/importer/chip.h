/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IMPORTER_CHIP_H
#define _IMPORTER_CHIP_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/miscdevice.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include "engine.h"

/**
 * struct chip - the chip
 * @ref: one reference each for the driver and each open file
 * @lock: protects @dead and @buffers; taken before reservation locks
 * @dead: the chip is being removed
 * @buffers: all imported dma-bufs
 */
struct chip {
	struct kref ref;
	struct pci_dev *pdev;
	struct engine engine;
	struct miscdevice misc;
	struct mutex lock;
	struct list_head buffers;
	bool dead;
};

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* The copy engine of an LSI 53C895A, for lsi.c. */
#ifndef _PEERPIN_SAMPLE_ENGINE_H
#define _PEERPIN_SAMPLE_ENGINE_H

#include <linux/completion.h>
#include <linux/device.h>
#include <linux/interrupt.h>
#include <linux/types.h>
#include <peerpin.h>

enum {
	LSI_BAR = 1,
	LSI_MOVE_MAX = 0xfffffc,
	LSI_SCRIPT_MOVES = 96,	/* QEMU pauses 500 us after 100 instructions */
	LSI_SCRIPT_BYTES = (LSI_SCRIPT_MOVES * 3 + 2) * 4,
};

/**
 * struct lsi_engine - the engine, which runs one copy at a time
 * @dead: the device is being removed: start no further script
 * @done: completed by the interrupt handler
 * @bus: address of the rest of the destination's current piece
 * @left: bytes left of this piece
 */
struct lsi_engine {
	struct device *dev;
	void __iomem *regs;
	__le32 *script;
	dma_addr_t script_bus;
	bool dead;
	struct completion done;
	dma_addr_t bus;
	u32 left;
};

/* Stop the engine and disable its interrupt. Context: any, no copy runs */
void lsi_engine_reset(struct lsi_engine *e);

irqreturn_t lsi_engine_irq(int irq, void *engine);

/*
 * Copy @src to @dst; both transfers have begun and have the same length. Context: process.
 * Return: 0; -ESTALE a region was revoked or unpinned; -ENODEV @e->dead; -EINTR a fatal signal
 * arrived; -EIO the engine reported an error, or timed out.
 */
int lsi_engine_run(struct lsi_engine *e, struct peerpin_dma *dst, struct peerpin_dma *src);

#endif

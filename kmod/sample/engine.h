/* SPDX-License-Identifier: GPL-2.0 */
/* The copy engine of an LSI 53C895A, for lsi.c. */
#ifndef _PEERPIN_SAMPLE_ENGINE_H
#define _PEERPIN_SAMPLE_ENGINE_H

#include <linux/completion.h>
#include <linux/interrupt.h>
#include <linux/types.h>
#include <peerpin.h>

struct device;

enum {
	LSI_MOVE_MAX = 0xfffffc,
	LSI_SCRIPT_MOVES = 96,	/* QEMU pauses 500 us after 100 instructions */
	LSI_SCRIPT_BYTES = (LSI_SCRIPT_MOVES * 3 + 2) * 4,
};

/**
 * struct lsi_engine - one copy at a time
 * @dead: the device is being removed: give up before the next script
 * @done: an interrupt has come
 */
struct lsi_engine {
	struct device *dev;
	void __iomem *regs;
	__le32 *script;
	dma_addr_t script_bus;
	bool dead;
	struct completion done;
};

/* One end of a copy and the piece of it that is being handed out */
struct lsi_cursor {
	struct peerpin_dma dma;
	dma_addr_t bus;
	u32 len;
};

void lsi_engine_reset(struct lsi_engine *e);

/* no interrupt comes after this */
void lsi_engine_quiet(struct lsi_engine *e);

irqreturn_t lsi_engine_irq(int irq, void *engine);

/*
 * Copy what both have begun, which is of the same length. Process context.
 * Return: 0; -ESTALE memory of one is being taken away; -ENODEV; -EIO.
 */
int lsi_engine_run(struct lsi_engine *e, struct lsi_cursor *dst,
		   struct lsi_cursor *src);

#endif

// SPDX-License-Identifier: GPL-2.0
/*
 * The chip executes SCRIPTS, a list of instructions in memory. A Memory Move has three words:
 * opcode and length, source, destination. INT ends the list. Bus addresses have 32 bits.
 */
#include <linux/iopoll.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include "engine.h"

enum {
	LSI_DSTAT = 0x0c,	/* cause of the stop; a read clears it */
	LSI_DSTAT_ERRORS = 0x71,
	LSI_ISTAT0 = 0x14,
	LSI_ISTAT0_DIP = 0x01,
	LSI_ISTAT0_SRST = 0x40,
	LSI_DSP = 0x2c,		/* address of the script; a write starts it */
	LSI_DIEN = 0x39,	/* bits of DSTAT that interrupt */
	LSI_DIEN_ALL = 0x75,
	LSI_MOVE = 0xc0000000,
	LSI_INT = 0x98080000,
	LSI_START_BYTES = 16 << 20,	/* maximum bytes of a script, so that a copy stops soon */
	LSI_TIMEOUT_MS = 500,	/* less than drain_timeout_ms */
};

static unsigned int poll_us = 20;
module_param(poll_us, uint, 0644);
MODULE_PARM_DESC(poll_us, "microseconds to poll a script before waiting for the interrupt");

irqreturn_t lsi_engine_irq(int irq, void *data)
{
	struct lsi_engine *e = data;
	u8 istat = readb(e->regs + LSI_ISTAT0);

	if (istat == 0xff || !(istat & LSI_ISTAT0_DIP))
		return IRQ_NONE;
	writeb(0, e->regs + LSI_DIEN);
	complete(&e->done);
	return IRQ_HANDLED;
}

void lsi_engine_reset(struct lsi_engine *e)
{
	writeb(LSI_ISTAT0_SRST, e->regs + LSI_ISTAT0);
	writeb(0, e->regs + LSI_ISTAT0);
	readb(e->regs + LSI_DSTAT);
}

/*
 * Polling is cheaper than an interrupt for short scripts. The handler for the previous script
 * may run late, clear DIEN and complete @done. So check the chip, and set DIEN again.
 */
static int lsi_start(struct lsi_engine *e)
{
	unsigned long left = msecs_to_jiffies(LSI_TIMEOUT_MS);
	u8 istat = 0;

	writel(e->script_bus, e->regs + LSI_DSP);
	if (poll_us)
		readb_poll_timeout_atomic(e->regs + LSI_ISTAT0, istat,
					  istat & LSI_ISTAT0_DIP, 1, poll_us);
	while (left && !(istat & LSI_ISTAT0_DIP)) {
		reinit_completion(&e->done);
		writeb(LSI_DIEN_ALL, e->regs + LSI_DIEN);
		left = wait_for_completion_timeout(&e->done, left);
		istat = readb(e->regs + LSI_ISTAT0);
	}
	if (!(istat & LSI_ISTAT0_DIP)) {
		dev_err(e->dev, "engine does not answer; resetting it\n");
		lsi_engine_reset(e);
		return -EIO;
	}
	return readb(e->regs + LSI_DSTAT) & LSI_DSTAT_ERRORS ? -EIO : 0;
}

/* Write the next script. Return: bytes that it moves; 0 after the last script. */
static u32 lsi_build(struct lsi_engine *e, struct peerpin_dma *dst, struct peerpin_dma *src)
{
	__le32 *at = e->script;
	u32 moves, len, total = 0;
	dma_addr_t from;

	for (moves = 0; moves < LSI_SCRIPT_MOVES && total < LSI_START_BYTES; moves++) {
		if (!e->left)
			e->left = peerpin_dma_next(dst, LSI_MOVE_MAX, &e->bus);
		if (!e->left)
			break;
		len = peerpin_dma_next(src, e->left, &from);
		*at++ = cpu_to_le32(LSI_MOVE | len);
		*at++ = cpu_to_le32(from);
		*at++ = cpu_to_le32(e->bus);
		e->bus += len;
		e->left -= len;
		total += len;
	}
	*at++ = cpu_to_le32(LSI_INT);
	*at = 0;
	return total;
}

int lsi_engine_run(struct lsi_engine *e, struct peerpin_dma *dst, struct peerpin_dma *src)
{
	int ret = 0;

	e->left = 0;
	while (!ret && lsi_build(e, dst, src)) {
		if (READ_ONCE(e->dead))
			return -ENODEV;
		if (peerpin_dma_stale(dst) || peerpin_dma_stale(src))
			return -ESTALE;
		if (fatal_signal_pending(current))
			return -EINTR;
		ret = lsi_start(e);
		cond_resched();
	}
	return ret;
}

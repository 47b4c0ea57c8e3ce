// SPDX-License-Identifier: GPL-2.0
/*
 * The chip is told what to do by SCRIPTS, a list of instructions in memory. A
 * Memory Move takes three words: opcode and length, source, destination. A
 * list ends with an instruction that interrupts. Bus addresses have 32 bits.
 */
#include <linux/device.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include "engine.h"

enum {
	LSI_DSTAT = 0x0c,	/* why the engine stopped; reading clears */
	LSI_DSTAT_ERRORS = 0x71,
	LSI_ISTAT0 = 0x14,
	LSI_ISTAT0_DIP = 0x01,
	LSI_ISTAT0_SRST = 0x40,
	LSI_DSP = 0x2c,		/* writing the script's address starts it */
	LSI_DIEN = 0x39,	/* what of DSTAT interrupts */
	LSI_DIEN_ALL = 0x75,
	LSI_MOVE = 0xc0000000,
	LSI_INT = 0x98080000,
	LSI_START_BYTES = 16 << 20,	/* then look whether to go on */
	LSI_TIMEOUT_MS = 500,	/* less than the core waits for us */
};

static unsigned int poll_us = 20;
module_param(poll_us, uint, 0644);
MODULE_PARM_DESC(poll_us, "poll a script this long before waiting for the interrupt");

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

void lsi_engine_quiet(struct lsi_engine *e)
{
	writeb(0, e->regs + LSI_DIEN);
}

/*
 * A short wait costs less than an interrupt; a long one must not burn a CPU.
 * The line may be shared, so an interrupt may be late and of the last script.
 */
static int lsi_wait(struct lsi_engine *e)
{
	unsigned long left = msecs_to_jiffies(LSI_TIMEOUT_MS);
	u8 istat;

	if (poll_us &&
	    !readb_poll_timeout_atomic(e->regs + LSI_ISTAT0, istat,
				       istat & LSI_ISTAT0_DIP, 1, poll_us))
		return 0;
	do {
		reinit_completion(&e->done);
		writeb(LSI_DIEN_ALL, e->regs + LSI_DIEN);
		left = wait_for_completion_timeout(&e->done, left);
	} while (left && !(readb(e->regs + LSI_ISTAT0) & LSI_ISTAT0_DIP));
	return left ? 0 : -EIO;
}

static int lsi_start(struct lsi_engine *e)
{
	writel(e->script_bus, e->regs + LSI_DSP);
	if (lsi_wait(e)) {
		dev_err(e->dev, "engine does not answer; resetting it\n");
		lsi_engine_reset(e);
		return -EIO;
	}
	return readb(e->regs + LSI_DSTAT) & LSI_DSTAT_ERRORS ? -EIO : 0;
}

static bool lsi_refill(struct lsi_cursor *c)
{
	if (!c->len)
		c->len = peerpin_dma_next(&c->dma, LSI_MOVE_MAX, &c->bus);
	return c->len;
}

/* Write the next script; returns the bytes it moves, 0 when all is moved. */
static u32 lsi_build(struct lsi_engine *e, struct lsi_cursor *dst,
		     struct lsi_cursor *src)
{
	__le32 *at = e->script;
	u32 moves, len, total = 0;

	for (moves = 0; moves < LSI_SCRIPT_MOVES; moves++) {
		if (total >= LSI_START_BYTES || !lsi_refill(dst) || !lsi_refill(src))
			break;
		len = min(dst->len, src->len);
		*at++ = cpu_to_le32(LSI_MOVE | len);
		*at++ = cpu_to_le32(src->bus);
		*at++ = cpu_to_le32(dst->bus);
		dst->bus += len;
		dst->len -= len;
		src->bus += len;
		src->len -= len;
		total += len;
	}
	*at++ = cpu_to_le32(LSI_INT);
	*at = 0;
	return total;
}

int lsi_engine_run(struct lsi_engine *e, struct lsi_cursor *dst,
		   struct lsi_cursor *src)
{
	int ret = 0;

	while (!ret && lsi_build(e, dst, src)) {
		if (READ_ONCE(e->dead))
			return -ENODEV;
		if (peerpin_dma_stale(&dst->dma) || peerpin_dma_stale(&src->dma))
			return -ESTALE;
		if (fatal_signal_pending(current))
			return -EINTR;
		ret = lsi_start(e);
		cond_resched();
	}
	return ret;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The chip runs a script, which is a list of instructions in memory. A move has three words: opcode
 * and length, source, destination. The last instruction raises a bit.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/minmax.h>
#include "chip.h"
#include "pin.h"

enum {
	DSTAT = 0x0c,		/* reason of the stop; reading clears it */
	DSTAT_ERRORS = 0x71,
	ISTAT0 = 0x14,
	ISTAT0_STOPPED = 0x01,
	ISTAT0_RESET = 0x40,
	DSP = 0x2c,		/* writing the script's address here starts the script */
	OP_MOVE = 0xc0000000,
	OP_END = 0x98080000,
	MOVE_MAX = 4 << 10,
	MOVES = 512,		/* QEMU pauses 500 us after each 100 instructions, so DMA runs beside the CPU */
	SCRIPT_BYTES = (MOVES * 3 + 2) * 4,
	POLL_US = 20,
	TIMEOUT_US = 10 * USEC_PER_SEC,	/* long, because the host may be busy */
};

static void engine_reset(struct direct_engine *e)
{
	writeb(ISTAT0_RESET, e->regs + ISTAT0);
	writeb(0, e->regs + ISTAT0);
	readb(e->regs + DSTAT);
}

int direct_engine_setup(struct direct *d)
{
	struct direct_engine *e = &d->engine;

	mutex_init(&e->lock);
	e->regs = pcim_iomap(d->pdev, 1, 0);
	e->script = dmam_alloc_coherent(&d->pdev->dev, SCRIPT_BYTES, &e->script_bus, GFP_KERNEL);
	if (!e->regs || !e->script)
		return -ENOMEM;
	engine_reset(e);
	return 0;
}

static int engine_start(struct direct_engine *e)
{
	u8 istat;

	writel(e->script_bus, e->regs + DSP);
	if (readb_poll_timeout(e->regs + ISTAT0, istat, istat & ISTAT0_STOPPED, POLL_US, TIMEOUT_US)) {
		engine_reset(e);
		return -EIO;
	}
	return readb(e->regs + DSTAT) & DSTAT_ERRORS ? -EIO : 0;
}

/* Write one move that crosses no page of the source or the destination. */
static u32 engine_move(__le32 *at, struct direct_end *dst, struct direct_end *src, u64 length)
{
	u32 dst_left, src_left, n;
	u32 to = direct_pin_bus(dst->pin, dst->offset, &dst_left);
	u32 from = direct_pin_bus(src->pin, src->offset, &src_left);

	n = min_t(u64, length, min3(dst_left, src_left, (u32)MOVE_MAX));
	at[0] = cpu_to_le32(OP_MOVE | n);
	at[1] = cpu_to_le32(from);
	at[2] = cpu_to_le32(to);
	dst->offset += n;
	src->offset += n;
	return n;
}

static u64 engine_build(struct direct_engine *e, struct direct_end *dst, struct direct_end *src, u64 length)
{
	__le32 *at = e->script;
	u64 done = 0;
	int i;

	for (i = 0; i < MOVES && done < length; i++, at += 3)
		done += engine_move(at, dst, src, length - done);
	at[0] = cpu_to_le32(OP_END);
	at[1] = 0;
	return done;
}

/* Run one script; returns the bytes moved */
static s64 engine_step(struct direct *d, struct direct_end *dst, struct direct_end *src, u64 length)
{
	u64 n;
	int ret;

	if (d->dead)
		return -ENODEV;
	if (direct_pin_stale(dst->pin) || direct_pin_stale(src->pin))
		return -ESTALE;
	n = engine_build(&d->engine, dst, src, length);
	ret = engine_start(&d->engine);
	return ret ?: n;
}

int direct_engine_copy(struct direct *d, struct direct_end dst, struct direct_end src, u64 length)
{
	s64 n;

	while (length) {
		mutex_lock(&d->engine.lock);
		n = engine_step(d, &dst, &src, length);
		mutex_unlock(&d->engine.lock);
		if (n < 0)
			return n;
		length -= n;
	}
	return 0;
}

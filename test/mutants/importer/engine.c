// SPDX-License-Identifier: GPL-2.0
/* The chip runs a script, which is a list of instructions in memory: see test/mutants/direct/engine.c. */
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/minmax.h>
#include "buffer.h"
#include "chip.h"

enum {
	DSTAT = 0x0c,
	DSTAT_ERRORS = 0x71,
	ISTAT0 = 0x14,
	ISTAT0_STOPPED = 0x01,
	ISTAT0_RESET = 0x40,
	DSP = 0x2c,
	OP_MOVE = 0xc0000000,
	OP_END = 0x98080000,
	MOVE_MAX = 4 << 10,
	MOVES = 512,
	SCRIPT_BYTES = (MOVES * 3 + 2) * 4,
	POLL_US = 20,
	TIMEOUT_US = 10 * USEC_PER_SEC,
};

static void engine_reset(struct engine *e)
{
	writeb(ISTAT0_RESET, e->regs + ISTAT0);
	writeb(0, e->regs + ISTAT0);
	readb(e->regs + DSTAT);
}

int engine_setup(struct chip *chip)
{
	struct engine *e = &chip->engine;

	mutex_init(&e->lock);
	e->regs = pcim_iomap(chip->pdev, 1, 0);
	e->script = dmam_alloc_coherent(&chip->pdev->dev, SCRIPT_BYTES, &e->script_bus, GFP_KERNEL);
	if (!e->regs || !e->script)
		return -ENOMEM;
	engine_reset(e);
	return 0;
}

void engine_stop(struct engine *e)
{
	mutex_lock(&e->lock);
	e->dead = true;
	mutex_unlock(&e->lock);
}

static int engine_start(struct engine *e)
{
	u8 istat;

	writel(e->script_bus, e->regs + DSP);
	if (readb_poll_timeout(e->regs + ISTAT0, istat, istat & ISTAT0_STOPPED, POLL_US, TIMEOUT_US)) {
		engine_reset(e);
		return -EIO;
	}
	return readb(e->regs + DSTAT) & DSTAT_ERRORS ? -EIO : 0;
}

/* Write one move that crosses no segment of the source or the destination. */
static u32 engine_move(__le32 *at, struct end *dst, struct end *src, u64 length)
{
	u64 dst_left, src_left, n;
	u32 to = buffer_bus(dst->buffer, dst->offset, &dst_left);
	u32 from = buffer_bus(src->buffer, src->offset, &src_left);

	n = min3(dst_left, src_left, (u64)MOVE_MAX);
	n = min(n, length);
	at[0] = cpu_to_le32(OP_MOVE | n);
	at[1] = cpu_to_le32(from);
	at[2] = cpu_to_le32(to);
	dst->offset += n;
	src->offset += n;
	return n;
}

static u64 engine_build(struct engine *e, struct end dst, struct end src, u64 length)
{
	__le32 *at = e->script;
	u64 done = 0;
	int i;

	for (i = 0; i < MOVES && done < length; i++, at += 3)
		done += engine_move(at, &dst, &src, length - done);
	at[0] = cpu_to_le32(OP_END);
	at[1] = 0;
	return done;
}

static s64 engine_copy_locked(struct engine *e, struct end dst, struct end src, u64 length)
{
	u64 n;
	int ret;

	lockdep_assert_held(&e->lock);
	if (e->dead)
		return -ENODEV;
	if (!dst.buffer->valid || !src.buffer->valid)
		return -ESTALE;
	n = engine_build(e, dst, src, length);
	ret = engine_start(e);
	return ret ?: n;
}

s64 engine_copy(struct engine *e, struct end dst, struct end src, u64 length)
{
	s64 n;

	mutex_lock(&e->lock);
	n = engine_copy_locked(e, dst, src, length);
	mutex_unlock(&e->lock);
	return n;
}

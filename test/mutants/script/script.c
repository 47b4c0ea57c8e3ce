// SPDX-License-Identifier: GPL-2.0
/*
 * The chip runs a script, which is a list of instructions in memory. A move has three words: opcode
 * and length, source, destination. The last instruction raises a bit.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/iopoll.h>
#include <linux/pci.h>
#include "script.h"

enum {
	DSTAT = 0x0c,		/* reason of the stop; reading clears it */
	DSTAT_ERRORS = 0x71,
	ISTAT0 = 0x14,
	ISTAT0_STOPPED = 0x01,
	ISTAT0_RESET = 0x40,
	DSP = 0x2c,		/* writing the script's address here starts the script */
	OP_MOVE = 0xc0000000,
	OP_END = 0x98080000,
	MOVES = 512,		/* QEMU pauses 500 us after each 100 instructions, so DMA runs beside the CPU */
	SCRIPT_BYTES = (MOVES * 3 + 2) * 4,
	POLL_US = 20,
	TIMEOUT_US = 10 * USEC_PER_SEC,	/* long, because the host may be busy */
};

static void reset(struct script *s)
{
	writeb(ISTAT0_RESET, s->regs + ISTAT0);
	writeb(0, s->regs + ISTAT0);
	readb(s->regs + DSTAT);
}

int script_setup(struct script *s, struct pci_dev *pdev)
{
	s->regs = pcim_iomap(pdev, 1, 0);
	s->words = dmam_alloc_coherent(&pdev->dev, SCRIPT_BYTES, &s->bus, GFP_KERNEL);
	if (!s->regs || !s->words)
		return -ENOMEM;
	reset(s);
	return 0;
}

void script_clear(struct script *s)
{
	s->n = 0;
}

bool script_has_room(const struct script *s)
{
	return s->n < MOVES;
}

void script_add(struct script *s, u32 to, u32 from, u32 length)
{
	__le32 *at = s->words + 3 * s->n++;

	at[0] = cpu_to_le32(OP_MOVE | length);
	at[1] = cpu_to_le32(from);
	at[2] = cpu_to_le32(to);
}

int script_run(struct script *s)
{
	__le32 *end = s->words + 3 * s->n;
	u8 istat;

	end[0] = cpu_to_le32(OP_END);
	end[1] = 0;
	writel(s->bus, s->regs + DSP);
	if (readb_poll_timeout(s->regs + ISTAT0, istat, istat & ISTAT0_STOPPED, POLL_US, TIMEOUT_US)) {
		reset(s);
		return -EIO;
	}
	return readb(s->regs + DSTAT) & DSTAT_ERRORS ? -EIO : 0;
}

// SPDX-License-Identifier: GPL-2.0
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/pci.h>

#include "engine.h"

enum {
	DSTAT = 0x0c,
	DSTAT_SIR = 0x04,
	ISTAT0 = 0x14,
	ISTAT0_DIP = 0x01,
	DSP = 0x2c,
	DIEN = 0x39,
	MEMORY_MOVE = 0xc0000000,
	INTERRUPT = 0x98080000,
	POLLS = 100000,
	SCRIPT_WORDS = 5,
};

static int wait(void __iomem *regs)
{
	int i;

	for (i = 0; i < POLLS; i++) {
		if (readb(regs + ISTAT0) & ISTAT0_DIP)
			return readb(regs + DSTAT) & DSTAT_SIR ? 0 : -EIO;
		udelay(10);
	}
	return -ETIMEDOUT;
}

static int run(struct pci_dev *chip, void __iomem *regs, const u32 *words)
{
	dma_addr_t bus;
	__le32 *script = dma_alloc_coherent(&chip->dev, SCRIPT_WORDS * sizeof(*script), &bus, GFP_KERNEL);
	int i, err;

	if (!script)
		return -ENOMEM;
	for (i = 0; i < SCRIPT_WORDS; i++)
		script[i] = cpu_to_le32(words[i]);
	writeb(DSTAT_SIR, regs + DIEN);
	writel(bus, regs + DSP);
	err = wait(regs);
	writeb(0, regs + DIEN);
	dma_free_coherent(&chip->dev, SCRIPT_WORDS * sizeof(*script), script, bus);
	return err;
}

int engine_move(struct pci_dev *chip, dma_addr_t to, dma_addr_t from, u32 len)
{
	const u32 script[SCRIPT_WORDS] = { MEMORY_MOVE | len, from, to, INTERRUPT };
	void __iomem *regs;
	int err;

	if (chip->dev.driver)
		return -EBUSY;
	err = pci_enable_device(chip);
	if (err)
		return err;
	pci_set_master(chip);
	regs = pci_iomap(chip, 1, 0);
	err = regs ? run(chip, regs, script) : -ENOMEM;
	if (regs)
		pci_iounmap(chip, regs);
	pci_clear_master(chip);
	pci_disable_device(chip);
	return err;
}

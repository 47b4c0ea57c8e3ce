// SPDX-License-Identifier: GPL-2.0
#include <linux/dma-mapping.h>
#include <linux/iopoll.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include "chip.h"

enum {
	CHIP_BAR = 1,
	CHIP_DSTAT = 0x0c,
	CHIP_DSTAT_SIR = 0x04,
	CHIP_ISTAT0 = 0x14,
	CHIP_ISTAT0_DIP = 0x01,
	CHIP_DSP = 0x2c,
	CHIP_MOVE_MAX = 0xfffffc,
	CHIP_SCRIPT_WORDS = 5,
	CHIP_TIMEOUT_US = 2000000,
};

/**
 * struct chip - the first LSI chip of the VM
 * @pdev: the chip, or NULL if not present
 * @script: program for the chip; NULL if another driver is bound to the chip
 */
struct chip {
	struct pci_dev *pdev;
	void __iomem *regs;
	__le32 *script;
	dma_addr_t script_bus;
	struct mutex lock;
};

static struct chip chip;

struct device *shim_chip_device(void)
{
	return chip.pdev ? &chip.pdev->dev : NULL;
}

static int chip_run(void)
{
	u8 istat;

	writel(chip.script_bus, chip.regs + CHIP_DSP);
	if (readb_poll_timeout(chip.regs + CHIP_ISTAT0, istat, istat & CHIP_ISTAT0_DIP, 10, CHIP_TIMEOUT_US))
		return -EIO;
	return readb(chip.regs + CHIP_DSTAT) & CHIP_DSTAT_SIR ? 0 : -EIO;
}

/* Run a script of one Memory Move and an INT. */
static int chip_move(u64 to, u64 from, u32 length)
{
	chip.script[0] = cpu_to_le32(0xc0000000 | length);
	chip.script[1] = cpu_to_le32(from);
	chip.script[2] = cpu_to_le32(to);
	chip.script[3] = cpu_to_le32(0x98080000);
	chip.script[4] = 0;
	return chip_run();
}

int shim_chip_move(u64 to, u64 from, u32 length)
{
	int ret;

	if (!chip.script)
		return -EBUSY;
	if (length > CHIP_MOVE_MAX)
		return -EINVAL;
	mutex_lock(&chip.lock);
	ret = chip_move(to, from, length);
	mutex_unlock(&chip.lock);
	return ret;
}

static int chip_start(void)
{
	int ret = pci_enable_device(chip.pdev);

	if (ret)
		return ret;
	pci_set_master(chip.pdev);
	chip.regs = pci_iomap(chip.pdev, CHIP_BAR, 0);
	if (chip.regs)
		chip.script = dma_alloc_coherent(&chip.pdev->dev, CHIP_SCRIPT_WORDS * 4, &chip.script_bus,
						 GFP_KERNEL);
	return chip.script ? 0 : -ENOMEM;
}

static void chip_end(void)
{
	if (!chip.pdev)
		return;
	if (chip.script)
		dma_free_coherent(&chip.pdev->dev, CHIP_SCRIPT_WORDS * 4, chip.script, chip.script_bus);
	if (chip.regs) {
		pci_iounmap(chip.pdev, chip.regs);
		pci_clear_master(chip.pdev);
		pci_disable_device(chip.pdev);
	}
	pci_dev_put(chip.pdev);
}

int shim_chip_init(void)
{
	int ret = 0;

	mutex_init(&chip.lock);
	chip.pdev = pci_get_device(PCI_VENDOR_ID_LSI_LOGIC, PCI_DEVICE_ID_LSI_53C895A, NULL);
	if (!chip.pdev || chip.pdev->dev.driver)
		return 0;
	ret = dma_set_mask_and_coherent(&chip.pdev->dev, DMA_BIT_MASK(32));
	if (!ret)
		ret = chip_start();
	if (ret)
		chip_end();
	return ret;
}

void shim_chip_exit(void)
{
	chip_end();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The yardstick: what the LSI chip takes for one move of 8 MiB from BAR to
 * BAR, with nothing of peerpin in the way. Takes the chip while peerpin_lsi
 * does not have it, measures in init, prints and always fails to load:
 *
 *	engine_bare: 8388608 bytes median 1234567 ns min 1200000 ns of 21
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/io.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/sort.h>

enum {
	RUNS = 21,
	BYTES = 8 << 20,
	DSTAT = 0x0c,
	ISTAT0 = 0x14,
	ISTAT0_DIP = 0x01,
	DSP = 0x2c,
	DIEN = 0x39,
	DSTAT_SIR = 0x04,
};

struct bare {
	struct pci_dev *chip;
	struct pci_dev *gpu;
	void __iomem *regs;
	__le32 *script;
	dma_addr_t script_bus;
	dma_addr_t bar_bus;
};

static void bare_script(struct bare *b)
{
	b->script[0] = cpu_to_le32(0xc0000000 | BYTES);
	b->script[1] = cpu_to_le32(b->bar_bus);
	b->script[2] = cpu_to_le32(b->bar_bus + BYTES);
	b->script[3] = cpu_to_le32(0x98080000);
	b->script[4] = 0;
}

static int bare_move(struct bare *b, u64 *ns)
{
	ktime_t start = ktime_get();
	int i;

	writel(b->script_bus, b->regs + DSP);
	for (i = 0; i < 100000; i++) {
		if (readb(b->regs + ISTAT0) & ISTAT0_DIP) {
			*ns = ktime_to_ns(ktime_sub(ktime_get(), start));
			return readb(b->regs + DSTAT) & DSTAT_SIR ? 0 : -EIO;
		}
		udelay(1);
	}
	return -ETIMEDOUT;
}

static int bare_compare(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int bare_measure(struct bare *b)
{
	u64 ns[RUNS];
	int i, ret;

	bare_script(b);
	writeb(DSTAT_SIR, b->regs + DIEN);
	for (i = 0; i < RUNS; i++) {
		ret = bare_move(b, &ns[i]);
		if (ret)
			return ret;
	}
	sort(ns, RUNS, sizeof(ns[0]), bare_compare, NULL);
	pr_info("engine_bare: %u bytes median %llu ns min %llu ns of %d\n",
		BYTES, ns[RUNS / 2], ns[0], RUNS);
	return 0;
}

static int bare_map_and_measure(struct bare *b)
{
	struct device *dev = &b->chip->dev;
	int ret;

	ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(32));
	if (ret)
		return ret;
	b->script = dma_alloc_coherent(dev, PAGE_SIZE, &b->script_bus,
				       GFP_KERNEL);
	if (!b->script)
		return -ENOMEM;
	b->bar_bus = dma_map_resource(dev, pci_resource_start(b->gpu, 2),
				      2 * BYTES, DMA_BIDIRECTIONAL, 0);
	ret = dma_mapping_error(dev, b->bar_bus);
	if (ret)
		goto err_script;
	ret = bare_measure(b);
	dma_unmap_resource(dev, b->bar_bus, 2 * BYTES, DMA_BIDIRECTIONAL, 0);
err_script:
	dma_free_coherent(dev, PAGE_SIZE, b->script, b->script_bus);
	return ret;
}

static int bare_enable_and_measure(struct bare *b)
{
	int ret;

	ret = pci_enable_device(b->chip);
	if (ret)
		return ret;
	pci_set_master(b->chip);
	b->regs = pci_iomap(b->chip, 1, 0);
	if (b->regs) {
		ret = bare_map_and_measure(b);
		pci_iounmap(b->chip, b->regs);
	} else {
		ret = -ENOMEM;
	}
	pci_clear_master(b->chip);
	pci_disable_device(b->chip);
	return ret;
}

static int __init bare_init(void)
{
	struct bare b = {};
	int ret = -ENODEV;

	b.chip = pci_get_device(PCI_VENDOR_ID_LSI_LOGIC,
				PCI_DEVICE_ID_LSI_53C895A, NULL);
	b.gpu = pci_get_device(0x1af4, 0x1110, NULL);
	if (b.chip && b.gpu)
		ret = b.chip->dev.driver ? -EBUSY : bare_enable_and_measure(&b);
	pci_dev_put(b.gpu);
	pci_dev_put(b.chip);
	return ret ?: -EAGAIN;	/* measured; nothing to stay loaded for */
}

module_init(bare_init);
MODULE_DESCRIPTION("bare engine speed of the LSI chip");
MODULE_LICENSE("GPL");

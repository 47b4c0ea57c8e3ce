// SPDX-License-Identifier: GPL-2.0
/*
 * The baseline without peerpin: measures the LSI chip. Each move copies 8 MiB from BAR to BAR: once
 * in one piece, once in scattered pages of 64 KiB. Like GPU memory, each page is mapped on its own.
 * peerpin_lsi must not be bound to the chip. The module prints the times, then fails to load:
 *
 *	engine_bare: one move: 8388608 bytes median 1234567 ns min 1200000 ns of 21
 *	engine_bare: scattered: 8388608 bytes median ...
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
	PAGE = 64 << 10,
	PAGES = BYTES / PAGE,
	STARTS = 2,	/* two script starts: QEMU pauses after 100 instructions */
	MOVES = PAGES / STARTS,
	SCRIPT_WORDS = MOVES * 3 + 2,
};

struct bare {
	struct pci_dev *chip;
	struct pci_dev *gpu;
	void __iomem *regs;
	__le32 *script;
	dma_addr_t script_bus;
	dma_addr_t bar_bus;
	dma_addr_t page_bus[2 * PAGES];
};

static __le32 *bare_add_move(__le32 *at, dma_addr_t to, dma_addr_t from, u32 len)
{
	*at++ = cpu_to_le32(0xc0000000 | len);
	*at++ = cpu_to_le32(from);
	*at++ = cpu_to_le32(to);
	return at;
}

static void bare_add_end(__le32 *at)
{
	*at++ = cpu_to_le32(0x98080000);
	*at = 0;
}

static int bare_start(struct bare *b, unsigned int script)
{
	int i;

	writel(b->script_bus + script * SCRIPT_WORDS * 4, b->regs + DSP);
	for (i = 0; i < 100000; i++) {
		if (readb(b->regs + ISTAT0) & ISTAT0_DIP)
			return readb(b->regs + DSTAT) & DSTAT_SIR ? 0 : -EIO;
		udelay(1);
	}
	return -ETIMEDOUT;
}

static int bare_compare(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static int bare_measure(struct bare *b, const char *what, unsigned int scripts)
{
	u64 ns[RUNS];
	unsigned int i, n;
	ktime_t start;
	int ret = 0;

	for (i = 0; i < RUNS; i++) {
		start = ktime_get();
		for (n = 0; n < scripts && !ret; n++)
			ret = bare_start(b, n);
		if (ret)
			return ret;
		ns[i] = ktime_to_ns(ktime_sub(ktime_get(), start));
	}
	sort(ns, RUNS, sizeof(ns[0]), bare_compare, NULL);
	pr_info("engine_bare: %s: %u bytes median %llu ns min %llu ns of %d\n",
		what, BYTES, ns[RUNS / 2], ns[0], RUNS);
	return 0;
}

static int bare_measure_one_move(struct bare *b)
{
	struct device *dev = &b->chip->dev;
	int ret;

	b->bar_bus = dma_map_resource(dev, pci_resource_start(b->gpu, 2),
				      2 * BYTES, DMA_BIDIRECTIONAL, 0);
	ret = dma_mapping_error(dev, b->bar_bus);
	if (ret)
		return ret;
	bare_add_end(bare_add_move(b->script, b->bar_bus + BYTES, b->bar_bus,
				   BYTES));
	ret = bare_measure(b, "one move", 1);
	dma_unmap_resource(dev, b->bar_bus, 2 * BYTES, DMA_BIDIRECTIONAL, 0);
	return ret;
}

static void bare_add_scattered(struct bare *b)
{
	unsigned int script, i;

	for (script = 0; script < STARTS; script++) {
		__le32 *at = b->script + script * SCRIPT_WORDS;

		for (i = script * MOVES; i < (script + 1) * MOVES; i++)
			at = bare_add_move(at, b->page_bus[PAGES + i],
					   b->page_bus[i], PAGE);
		bare_add_end(at);
	}
}

/* Page i of the range is page i * 37 (modulo the size) of the BAR: so no successive pages are adjacent. */
static int bare_measure_scattered(struct bare *b)
{
	struct device *dev = &b->chip->dev;
	int i, ret = 0;

	for (i = 0; i < 2 * PAGES; i++) {
		b->page_bus[i] = dma_map_resource(dev,
			pci_resource_start(b->gpu, 2) +
			(u64)(i * 37 % (2 * PAGES)) * PAGE, PAGE,
			DMA_BIDIRECTIONAL, 0);
		ret = dma_mapping_error(dev, b->page_bus[i]);
		if (ret)
			goto out;
	}
	bare_add_scattered(b);
	ret = bare_measure(b, "scattered", STARTS);
out:
	while (i--)
		dma_unmap_resource(dev, b->page_bus[i], PAGE,
				   DMA_BIDIRECTIONAL, 0);
	return ret;
}

static int bare_map_and_measure(struct bare *b)
{
	struct device *dev = &b->chip->dev;
	int ret;

	ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(32));
	if (ret)
		return ret;
	b->script = dma_alloc_coherent(dev, STARTS * SCRIPT_WORDS * 4,
				       &b->script_bus, GFP_KERNEL);
	if (!b->script)
		return -ENOMEM;
	writeb(DSTAT_SIR, b->regs + DIEN);
	ret = bare_measure_one_move(b);
	if (!ret)
		ret = bare_measure_scattered(b);
	writeb(0, b->regs + DIEN);
	dma_free_coherent(dev, STARTS * SCRIPT_WORDS * 4, b->script,
			  b->script_bus);
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
	static struct bare b;
	int ret = -ENODEV;

	b.chip = pci_get_device(PCI_VENDOR_ID_LSI_LOGIC,
				PCI_DEVICE_ID_LSI_53C895A, NULL);
	b.gpu = pci_get_device(0x1af4, 0x1110, NULL);
	if (b.chip && b.gpu)
		ret = b.chip->dev.driver ? -EBUSY : bare_enable_and_measure(&b);
	pci_dev_put(b.gpu);
	pci_dev_put(b.chip);
	return ret ?: -EAGAIN;	/* success is an error too, so that the module does not stay loaded */
}

module_init(bare_init);
MODULE_DESCRIPTION("speed of the LSI chip without peerpin");
MODULE_LICENSE("GPL");

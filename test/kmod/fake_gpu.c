// SPDX-License-Identifier: GPL-2.0
/*
 * A PCI function with the ids of an A100, so that NVIDIA's nvidia.ko loads in a VM without a GPU. The function is
 * alone on a root bus in software, in a PCI domain of its own. Its configuration space is an array. Its BARs lie in
 * the memory of an ivshmem-plain device. Only the registers that identify the chip have values.
 *
 * nvidia.ko reads the registers when it probes the function. It looks for a GPU only when a program opens the GPU,
 * and then it fails.
 */
#include <linux/bits.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <asm/pci.h>

enum {
	DOMAIN = 1,
	DEVICE_A100 = 0x20b0,
	SUBSYSTEM_A100 = 0x1450,
	CLASS_3D = 0x030200a1,
};

/* BARs 0, 1 and 3, as on an A100 but smaller. Each is at a multiple of its size. */
enum {
	REGISTERS_SIZE = 16 << 20, REGISTERS_AT = 0,
	MEMORY_SIZE = 64 << 20, MEMORY_AT = 64 << 20,
	INSTANCE_SIZE = 32 << 20, INSTANCE_AT = 32 << 20,
	WINDOW_SIZE = 128 << 20,
};

/* Offsets of the capabilities. The driver requires an interrupt, so there is MSI-X; its table is in the registers. */
enum { CAP_MSIX = 0x70, CAP_EXPRESS = 0x80, MSIX_TABLE = 0xb90000, MSIX_PENDING = 0xba0000 };

/* Registers: NV_PMC_BOOT_0 and NV_PMC_BOOT_42 of a GA100, revision A1 */
enum { BOOT_0 = 0, BOOT_42 = 0xa00, BOOT_0_GA100 = 0x170000a1, BOOT_42_GA100 = 0x170a1000 };

static u32 config[4096 / 4];
static struct pci_dev *store;
static struct resource window = { .name = "fake_gpu", .flags = IORESOURCE_MEM };
static struct resource bus_number = { .name = "fake_gpu bus", .flags = IORESOURCE_BUS };
static struct pci_sysdata sysdata = { .domain = DOMAIN, .node = NUMA_NO_NODE };
static struct pci_bus *bus;

/* ---- configuration space ----------------------------------------------------- */

static u32 writable(int at)
{
	switch (at) {
	case PCI_COMMAND:	/* with the read-only status */
		return PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY | PCI_COMMAND_SERR |
		       PCI_COMMAND_INTX_DISABLE;
	case PCI_BASE_ADDRESS_0:
		return ~(REGISTERS_SIZE - 1);
	case PCI_BASE_ADDRESS_1:
		return ~(MEMORY_SIZE - 1);
	case PCI_BASE_ADDRESS_3:
		return ~(INSTANCE_SIZE - 1);
	case PCI_BASE_ADDRESS_2:	/* upper halves of BAR 1 and BAR 3 */
	case PCI_BASE_ADDRESS_4:
		return ~0u;
	case PCI_CACHE_LINE_SIZE:
		return 0xffff;
	case PCI_INTERRUPT_LINE:
		return 0xff;
	default:
		return 0;
	}
}

static int fake_read(struct pci_bus *on, unsigned int devfn, int where, int size, u32 *value)
{
	if (devfn)
		return PCIBIOS_DEVICE_NOT_FOUND;
	*value = config[where / 4] >> 8 * (where % 4);
	if (size < 4)
		*value &= BIT(8 * size) - 1;
	return PCIBIOS_SUCCESSFUL;
}

static int fake_write(struct pci_bus *on, unsigned int devfn, int where, int size, u32 value)
{
	int shift = 8 * (where % 4);
	u32 mask = writable(where & ~3), *word = &config[where / 4];

	if (devfn)
		return PCIBIOS_DEVICE_NOT_FOUND;
	if (size < 4)
		mask &= (u32)(BIT(8 * size) - 1) << shift;
	*word = (*word & ~mask) | (value << shift & mask);
	return PCIBIOS_SUCCESSFUL;
}

static struct pci_ops fake_ops = { .read = fake_read, .write = fake_write };

static void put(int at, u32 value)
{
	config[at / 4] = value;
}

static void put_bar64(int at, u64 address)
{
	put(at, (u32)address | PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH);
	put(at + 4, address >> 32);
}

static void fill_config(u64 base)
{
	put(PCI_VENDOR_ID, PCI_VENDOR_ID_NVIDIA | DEVICE_A100 << 16);
	put(PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_STATUS_CAP_LIST << 16);
	put(PCI_CLASS_REVISION, CLASS_3D);
	put(PCI_SUBSYSTEM_VENDOR_ID, PCI_VENDOR_ID_NVIDIA | SUBSYSTEM_A100 << 16);
	put(PCI_BASE_ADDRESS_0, base + REGISTERS_AT);
	put_bar64(PCI_BASE_ADDRESS_1, base + MEMORY_AT);
	put_bar64(PCI_BASE_ADDRESS_3, base + INSTANCE_AT);
	put(PCI_CAPABILITY_LIST, CAP_MSIX);
	put(CAP_MSIX, PCI_CAP_ID_MSIX | CAP_EXPRESS << 8);
	put(CAP_MSIX + PCI_MSIX_TABLE, MSIX_TABLE);
	put(CAP_MSIX + PCI_MSIX_PBA, MSIX_PENDING);
	put(CAP_EXPRESS, PCI_CAP_ID_EXP | (PCI_EXP_TYPE_ENDPOINT << 4 | 2) << 16);
	put(CAP_EXPRESS + PCI_EXP_LNKCAP, PCI_EXP_LNKCAP_SLS_16_0GB | 16 << 4);
	put(CAP_EXPRESS + PCI_EXP_LNKCTL, (PCI_EXP_LNKSTA_CLS_16_0GB | 16 << 4) << 16);
}

/* ---- the bus ------------------------------------------------------------------ */

static int fill_registers(u64 base)
{
	void __iomem *registers = ioremap(base + REGISTERS_AT, PAGE_SIZE);

	if (!registers)
		return -ENOMEM;
	memset_io(registers, 0, PAGE_SIZE);
	writel(BOOT_0_GA100, registers + BOOT_0);
	writel(BOOT_42_GA100, registers + BOOT_42);
	iounmap(registers);
	return 0;
}

/* Makes the window a part of the ivshmem device's BAR, which no driver may have requested. */
static int take_window(void)
{
	struct resource *bar = &store->resource[2];

	if (resource_size(bar) < WINDOW_SIZE)
		return -ENOSPC;
	window.start = bar->start;
	window.end = bar->start + WINDOW_SIZE - 1;
	return request_resource(bar, &window);
}

static int scan(void)
{
	LIST_HEAD(resources);

	pci_add_resource(&resources, &window);
	pci_add_resource(&resources, &bus_number);
	pci_lock_rescan_remove();
	bus = pci_scan_root_bus(NULL, 0, &fake_ops, &sysdata, &resources);
	if (bus) {
		pci_bus_claim_resources(bus);
		pci_bus_add_devices(bus);
	}
	pci_unlock_rescan_remove();
	if (bus)
		return 0;
	pci_free_resource_list(&resources);
	return -ENOMEM;
}

static int __init fake_gpu_init(void)
{
	int err;

	store = pci_get_device(PCI_VENDOR_ID_REDHAT_QUMRANET, 0x1110, NULL);
	if (!store)
		return -ENODEV;
	err = pci_enable_device_mem(store);
	if (err)
		goto err_put;
	err = take_window();
	if (err)
		goto err_disable;
	fill_config(window.start);
	err = fill_registers(window.start);
	if (err)
		goto err_release;
	err = scan();
	if (err)
		goto err_release;
	return 0;

err_release:
	release_resource(&window);
err_disable:
	pci_disable_device(store);
err_put:
	pci_dev_put(store);
	return err;
}
module_init(fake_gpu_init);

static void __exit fake_gpu_exit(void)
{
	pci_lock_rescan_remove();
	pci_stop_root_bus(bus);
	pci_remove_root_bus(bus);
	pci_unlock_rescan_remove();
	release_resource(&window);
	pci_disable_device(store);
	pci_dev_put(store);
}
module_exit(fake_gpu_exit);

MODULE_DESCRIPTION("A PCI function with the ids of an NVIDIA GPU and no GPU behind it, for tests");
MODULE_LICENSE("GPL");

// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "pci_config.h"
#include "pci_device.h"

bool is_pci_address(const char *name)
{
	unsigned int domain, bus, slot, function;
	int end = 0;

	if (strspn(name, "0123456789abcdef:.") != strlen(name))
		return false;
	if (sscanf(name, "%8x:%2x:%2x.%1x%n", &domain, &bus, &slot, &function, &end) != 4 || name[end])
		return false;
	return strchr(name, ':') - name >= 4 && slot < 32 && function < 8;
}

static struct tree_path file_of(const struct device *d, const char *name)
{
	return tree_path("sys/bus/pci/devices/%s/%s", d->name, name);
}

static uint64_t number_of(const struct tree *t, const struct device *d, const char *name)
{
	uint64_t n;

	return tree_u64(t, file_of(d, name).at, &n) ? 0 : n;
}

static int int_of(const struct tree *t, const char *path, int unknown)
{
	int n;

	return tree_int(t, path, &n) ? unknown : n;
}

/* ---- the configuration space ---------------------------------------------------- */

static enum port_type port_of(const struct pci_config *c)
{
	static const enum port_type types[16] = {
		[0x0] = PORT_ENDPOINT,
		[0x1] = PORT_ENDPOINT,
		[0x4] = PORT_ROOT,
		[0x5] = PORT_UPSTREAM,
		[0x6] = PORT_DOWNSTREAM,
		[0x7] = PORT_TO_PCI,
		[0x8] = PORT_TO_PCI,
		[0x9] = PORT_IN_ROOT_COMPLEX,
		[0xa] = PORT_IN_ROOT_COMPLEX,
	};
	unsigned int at = config_capability(c, PCI_CAP_EXPRESS);

	return at ? types[config_u16(c, at + 2) >> 4 & 0xf] : PORT_CONVENTIONAL;
}

static void read_acs(const struct pci_config *c, struct device *d)
{
	d->acs_at = config_extended(c, PCI_EXT_ACS);
	d->has_acs = d->acs_at;
	if (!d->has_acs)
		return;
	d->acs_cap = config_u16(c, d->acs_at + 4);
	d->acs_ctrl = config_u16(c, d->acs_at + ACS_CTRL);
}

static void read_ats(const struct pci_config *c, struct device *d)
{
	unsigned int at = config_extended(c, PCI_EXT_ATS);

	d->has_ats = at;
	d->ats_on = at && config_u16(c, at + 6) & 1 << 15;
}

/* Each BAR has two registers: one with sizes from 1 MiB to 128 TiB, one with larger sizes and the index of the BAR. */
static void read_rebar(const struct pci_config *c, struct device *d)
{
	unsigned int at = config_extended(c, PCI_EXT_REBAR), i, count, bar;
	uint32_t control;

	d->has_rebar = at;
	count = at ? config_u32(c, at + 8) >> 5 & 0x7 : 0;
	for (i = 0; i < count && i < PCI_NR_BARS; i++) {
		control = config_u32(c, at + 8 + 8 * i);
		bar = control & 0x7;
		if (bar < PCI_NR_BARS)
			d->rebar[bar] = config_u32(c, at + 4 + 8 * i) >> 4 | (uint64_t)(control >> 16) << 28;
	}
}

/*
 * Were all relevant parts of the configuration space read? Express devices have ACS and ATS in the extended part. With
 * pci=nommconf or without an MCFG table (i440fx, Xen) not even root can read it. Conventional devices do not have it.
 */
static bool is_seen(const struct pci_config *c, enum port_type port)
{
	return c->size > (port == PORT_CONVENTIONAL ? PCI_CONFIG_UNPRIVILEGED : PCI_AT_EXTENDED);
}

static void read_config(const struct tree *t, struct device *d)
{
	char bytes[PCI_CONFIG_SIZE + 1];
	struct pci_config c = { 0 };
	ssize_t n = tree_read(t, file_of(d, "config").at, bytes, sizeof(bytes));

	if (n <= 0)
		return;
	c.size = (size_t)n;
	memcpy(c.at, bytes, c.size);
	d->master = config_u16(&c, PCI_AT_COMMAND) & PCI_COMMAND_MASTER;
	if (c.size <= PCI_CONFIG_UNPRIVILEGED)
		return;
	d->port = port_of(&c);
	d->config_seen = is_seen(&c, d->port);
	d->config_cut = !d->config_seen;
	read_acs(&c, d);
	read_ats(&c, d);
	read_rebar(&c, d);
}

/* ---- other files ---------------------------------------------------------------- */

/* The file has "8.0 GT/s PCIe", or "8 GT/s" before Linux 5.2. */
static unsigned int speed_of(const struct tree *t, const struct device *d, const char *name)
{
	unsigned int whole, tenth = 0;
	char text[32];

	if (tree_line(t, file_of(d, name).at, text, sizeof(text)))
		return 0;
	if (sscanf(text, "%3u.%1u GT/s", &whole, &tenth) < 1)
		return 0;
	return whole * 1000 + tenth * 100;
}

/* Returns 0 if the link is down or unknown: then the kernel reports 255 lanes. */
static unsigned int width_of(const struct tree *t, const struct device *d, const char *name)
{
	uint64_t n = number_of(t, d, name);

	return n <= 32 ? (unsigned int)n : 0;
}

static void read_link(const struct tree *t, struct device *d)
{
	d->link.speed_mts = speed_of(t, d, "current_link_speed");
	d->link.width = width_of(t, d, "current_link_width");
	d->link.max_speed_mts = speed_of(t, d, "max_link_speed");
	d->link.max_width = width_of(t, d, "max_link_width");
}

static void read_bars(const struct tree *t, struct device *d)
{
	char text[2048], *rest = text, *line;
	uint64_t start, end;
	int i;

	if (tree_read(t, file_of(d, "resource").at, text, sizeof(text)) < 0)
		return;
	for (i = 0; i < PCI_NR_BARS && (line = strsep(&rest, "\n")); i++) {
		if (sscanf(line, "%" SCNx64 " %" SCNx64, &start, &end) != 2 || end <= start)
			continue;
		d->bar_at[i] = start;
		d->bars[i] = end - start + 1;
	}
}

static void read_iommu(const struct tree *t, struct device *d)
{
	char group[8], *end;
	long n;

	d->iommu_group = NO_GROUP;
	if (tree_link(t, file_of(d, "iommu_group").at, group, sizeof(group)))
		return;
	n = strtol(group, &end, 10);
	if (n < 0 || end == group || *end)
		return;
	d->iommu_group = (int)n;
	tree_line(t, tree_path("sys/kernel/iommu_groups/%d/type", d->iommu_group).at, d->iommu_type,
		  sizeof(d->iommu_type));
}

static int take_name(void *arg, const char *name)
{
	struct device *d = arg;

	if (strlen(name) < sizeof(d->rdma))
		strcpy(d->rdma, name);
	return 1;
}

void device_read(const struct tree *t, struct device *d)
{
	char physfn[32];

	d->vendor = (uint16_t)number_of(t, d, "vendor");
	d->device = (uint16_t)number_of(t, d, "device");
	d->class_code = number_of(t, d, "class") & 0xffffff;
	d->numa_node = int_of(t, file_of(d, "numa_node").at, NO_NODE);
	tree_link(t, file_of(d, "driver").at, d->driver, sizeof(d->driver));
	tree_list(t, file_of(d, "infiniband").at, take_name, d);
	d->is_virtual = !tree_link(t, file_of(d, "physfn").at, physfn, sizeof(physfn));
	read_config(t, d);
	read_link(t, d);
	read_bars(t, d);
	read_iommu(t, d);
}

/* ---- the kind of a device -------------------------------------------------------- */

enum {
	VENDOR_NVIDIA = 0x10de,
	VENDOR_VIRTIO = 0x1af4,
	VENDOR_VMWARE = 0x15ad,
	VENDOR_XEN = 0x5853,
	VENDOR_REALTEK = 0x10ec,
	CLASS_DISPLAY = 0x03,
	CLASS_BRIDGE_PCI = 0x0604,
	CLASS_OWN = 0xff,
};

/** struct class_kind - @mask: bits of the class to compare; @plugged: match only a bus master below a bridge */
struct class_kind {
	uint16_t class;
	uint16_t mask;
	enum device_kind kind;
	bool plugged;
};

/*
 * The first row that matches counts. Rows with @plugged have classes that parts of chipsets
 * and processors also have; these parts are not below a bridge.
 */
static const struct class_kind class_kinds[] = {
	{ 0x0001, 0xffff, DEVICE_NONE, false },		/* VGA older than class codes */
	{ 0x0000, 0xff00, DEVICE_OTHER_MASTER, false },
	{ 0x0100, 0xffff, DEVICE_STORAGE, false },	/* SCSI; not IDE and SATA, which every chipset has */
	{ 0x0104, 0xffff, DEVICE_STORAGE, false },	/* RAID */
	{ 0x0107, 0xffff, DEVICE_STORAGE, false },	/* SAS */
	{ 0x0108, 0xffff, DEVICE_NVME, false },
	{ 0x0200, 0xff00, DEVICE_NIC, false },
	{ 0x0302, 0xffff, DEVICE_OTHER_MASTER, false },	/* 3D controllers of other vendors */
	{ 0x0380, 0xffff, DEVICE_OTHER_MASTER, true },
	{ 0x0400, 0xffff, DEVICE_OTHER_MASTER, false },	/* video */
	{ 0x0480, 0xffff, DEVICE_OTHER_MASTER, false },
	{ 0x0580, 0xffff, DEVICE_OTHER_MASTER, true },	/* many FPGAs */
	{ 0x0880, 0xffff, DEVICE_OTHER_MASTER, true },
	{ 0x0b40, 0xffff, DEVICE_OTHER_MASTER, false },	/* co-processors */
	{ 0x0c06, 0xffff, DEVICE_NIC, false },		/* InfiniBand, the older class */
	{ 0x1100, 0xff00, DEVICE_OTHER_MASTER, true },
	{ 0x1200, 0xff00, DEVICE_OTHER_MASTER, false },	/* accelerators */
	{ 0xff00, 0xff00, DEVICE_OTHER_MASTER, false },
};

static bool fits(const struct class_kind *k, const struct device *d)
{
	if ((d->class_code >> 8 & k->mask) != k->class)
		return false;
	return !k->plugged || (d->master && d->parent != NO_PARENT);
}

/* The PCI device of the emulated GPU has the ids of another device, so recognise it by its driver. */
static bool is_gpu(const struct device *d)
{
	if (d->vendor == VENDOR_NVIDIA && d->class_code >> 16 == CLASS_DISPLAY)
		return true;
	return !strcmp(d->driver, "emugpu");
}

/* Software of the hypervisor moves the data of these devices, and cannot reach GPU memory. */
static bool is_paravirtual(const struct device *d)
{
	return d->vendor == VENDOR_VIRTIO || d->vendor == VENDOR_VMWARE || d->vendor == VENDOR_XEN;
}

/* Realtek uses class 0xff only for card readers, which cannot be peers. */
static bool is_card_reader(const struct device *d)
{
	return d->vendor == VENDOR_REALTEK && d->class_code >> 16 == CLASS_OWN;
}

static enum device_kind kind_by_class(const struct device *d)
{
	size_t i;

	for (i = 0; i < sizeof(class_kinds) / sizeof(class_kinds[0]); i++)
		if (fits(&class_kinds[i], d))
			return class_kinds[i].kind;
	return DEVICE_NONE;
}

enum device_kind device_kind_of(const struct device *d)
{
	if (!d->vendor)
		return DEVICE_NONE;	/* the device's files could not be read */
	if (d->class_code >> 8 == CLASS_BRIDGE_PCI)
		return DEVICE_BRIDGE;
	if (is_gpu(d))
		return DEVICE_GPU;
	if (is_paravirtual(d) || is_card_reader(d))
		return DEVICE_NONE;
	return d->rdma[0] ? DEVICE_RDMA : kind_by_class(d);
}

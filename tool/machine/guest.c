// SPDX-License-Identifier: MIT
#include <string.h>
#include "guest.h"

enum {
	VENDOR_QEMU = 0x1b36,
};

/* In a VM on x86, /proc/cpuinfo has the flag "hypervisor". */
static bool cpu_is_virtual(const struct tree *t)
{
	char cpus[4096];

	return tree_read(t, "proc/cpuinfo", cpus, sizeof(cpus)) > 0 && strstr(cpus, " hypervisor");
}

/** struct firmware - @vendor, @product: prefixes of the DMI strings */
struct firmware {
	const char *vendor;
	const char *product;
};

static bool begins(const char *text, const char *beginning)
{
	return !strncmp(text, beginning, strlen(beginning));
}

/* Amazon's physical machines have ".metal" in the product name: m7g.metal. */
static bool firmware_is_virtual(const struct tree *t)
{
	static const struct firmware list[] = {
		{ "QEMU", "" }, { "KVM", "" }, { "", "KVM" }, { "VMware", "" }, { "Xen", "" }, { "innotek", "" },
		{ "Parallels", "" }, { "OpenStack", "" }, { "", "OpenStack" }, { "Google", "Google Compute Engine" },
		{ "Microsoft", "Virtual" }, { "Apple", "Apple Virtualization" }, { "Amazon EC2", "" },
		{ "Alibaba Cloud", "Alibaba Cloud ECS" },
	};
	char vendor[64] = "", product[64] = "";
	size_t i;

	tree_line(t, "sys/class/dmi/id/sys_vendor", vendor, sizeof(vendor));
	tree_line(t, "sys/class/dmi/id/product_name", product, sizeof(product));
	for (i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (begins(vendor, list[i].vendor) && begins(product, list[i].product))
			return !strstr(product, ".metal");
	return false;
}

/* Is this QEMU's "virt" machine for ARM, started without firmware? */
static bool tree_is_virtual(const struct tree *t)
{
	static const char virt[] = "linux,dummy-virt";
	char compatible[256];
	ssize_t length = tree_read(t, "proc/device-tree/compatible", compatible, sizeof(compatible));

	return length > 0 && memmem(compatible, (size_t)length, virt, strlen(virt));
}

static bool has_bridges_of_qemu(const struct machine *m)
{
	size_t i;

	for (i = 0; i < m->count; i++)
		if (m->at[i].kind == DEVICE_BRIDGE && m->at[i].vendor == VENDOR_QEMU)
			return true;
	return false;
}

static bool has_emulated_gpu(const struct machine *m)
{
	size_t i;

	for (i = 0; i < m->count; i++)
		if (!strcmp(m->at[i].driver, "emugpu"))
			return true;
	return tree_exists(m->tree, "sys/module/emugpu");
}

bool guest_is_virtual(const struct machine *m)
{
	return cpu_is_virtual(m->tree) || firmware_is_virtual(m->tree) || tree_is_virtual(m->tree) ||
	       has_bridges_of_qemu(m);
}

bool guest_found(const struct machine *m)
{
	return !has_emulated_gpu(m) && guest_is_virtual(m);
}

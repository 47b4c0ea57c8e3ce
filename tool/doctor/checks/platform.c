// SPDX-License-Identifier: MIT
/* Platforms that the guide mentions, and virtual machines, which hide the host's topology. */
#include <stdio.h>
#include <string.h>
#include "checks.h"
#include "tool/machine/guest.h"

/* Only on ARM does /proc/cpuinfo have the key "CPU implementer". */
static bool is_arm64(const struct view *v)
{
	char value[16];

	return cpu_says(v, "CPU implementer", value, sizeof(value));
}

static void add_arm64(const struct view *v, struct report *r)
{
	report_add(r, HEALTH_WARN, "machine", "ARM64, %s: it is not guaranteed that peers can reach each other",
		   is_tegra(v) ? "with a GPU on the PCI bus" : "neither Jetson nor Drive");
	report_type(r, "peerpin copy --verify    # tests whether this platform can");
}

/* A Jetson-class board (IGX Orin) may have a discrete GPU too. A discrete GPU follows the rules for ARM64. */
void check_platform(const struct view *v, struct report *r)
{
	if (is_tegra(v) && !count_gpus(v)) {
		report_add(r, HEALTH_OK, "machine",
			   "Jetson or Drive: GPUDirect RDMA works with memory of cudaHostAlloc() and peerpin_tegra");
	} else if (cpu_is_power8(v)) {
		report_add(r, HEALTH_FAIL, "machine",
			   "POWER8: GPUDirect RDMA is not supported, though not disabled; it is said to work below one "
			   "PCIe switch");
		report_type(r, "peerpin topo    # is a switch above GPU and peer? Only classes PIX and PXB will do");
	} else if (is_arm64(v)) {
		add_arm64(v, r);
	} else if (v->cpuinfo[0]) {
		report_add(r, HEALTH_OK, "machine", "no platform with known limits");
	} else {
		report_add(r, HEALTH_UNSEEN, "machine", "the type of the processor cannot be seen");
		report_type(r, "cat /proc/cpuinfo");
	}
}

void check_platform_virtual(const struct view *v, struct report *r)
{
	char vendor[64] = "";

	if (!guest_is_virtual(&v->machine))
		return;
	if (tree_line(v->tree, "sys/class/dmi/id/sys_vendor", vendor, sizeof(vendor)))
		vendor[0] = '\0';
	report_add(r, HEALTH_UNSEEN, "machine",
		   "a virtual machine%s%s: the host's switches, its IOMMU and its ACS cannot be seen from here",
		   *vendor ? " of " : "", vendor);
	report_type(r, "peerpin doctor    # on the host");
}

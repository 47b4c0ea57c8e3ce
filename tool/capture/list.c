// SPDX-License-Identifier: MIT
#include "list.h"
#include "scrub.h"

const struct capture_rule capture_rules[] = {
	{ ".", ".dockerenv", scrub_all },
	{ "etc", "nv_tegra_release", NULL },
	{ "proc", "cmdline", scrub_cmdline },
	{ "proc", "cpuinfo", scrub_cpuinfo },
	{ "proc", "modules", scrub_modules },
	{ "proc/1", "cgroup", scrub_cgroup },
	{ "proc/device-tree", "compatible", NULL },
	{ "proc/driver/nvidia", "version", scrub_builder },
	{ "proc/driver/nvidia/gpus/*", "information", scrub_information },
	{ "proc/self", "limits", NULL },
	{ "proc/sys/kernel", "osrelease", scrub_release },
	{ "run", ".containerenv", scrub_all },
	{ "run/systemd", "container", scrub_all },
	{ "sys/bus/pci", "devices", NULL },
	{ "sys/bus/pci/devices/*", "vendor device class resource numa_node driver iommu_group physfn "
		"current_link_speed current_link_width max_link_speed max_link_width", NULL },
	{ "sys/bus/pci/devices/*", "config", scrub_config },
	{ "sys/bus/pci/devices/*/infiniband", "*", NULL },
	{ "sys/class/dmi/id", "sys_vendor product_name", NULL },
	{ "sys/class/infiniband/*/ports/*", "state", NULL },
	{ "sys/devices/system/cpu/cpu*/topology", "physical_package_id", NULL },
	{ "sys/devices/system/node", "node*", NULL },
	{ "sys/devices/system/node/node*", "cpulist", NULL },
	{ "sys/kernel", "iommu_groups", NULL },
	{ "sys/kernel/iommu_groups", "*", NULL },
	{ "sys/kernel/iommu_groups/*", "type", NULL },
	{ "sys/kernel/security", "lockdown", NULL },
	{ "sys/module", "nvidia nvidia_uvm nvidia_peermem nv_peer_mem gdrdrv emugpu ib_core peerpin*", NULL },
	{ "sys/module/nvidia", "version", NULL },
	{ "sys/module/nvidia_peermem/parameters", "peerdirect_support", NULL },
	{ "sys/module/emugpu", "version", NULL },
	{ "sys/module/emugpu/parameters", "bar1_reserve_mib", NULL },
	{ "sys/module/module/parameters", "sig_enforce", NULL },
};

const size_t capture_nr_rules = sizeof(capture_rules) / sizeof(*capture_rules);

// SPDX-License-Identifier: MIT
/* The IOMMU: if it translates for a GPU or a peer, transfers go through the root complex. */
#include <stdio.h>
#include <string.h>
#include "checks.h"

/* Returns the first GPU or peer after index @last, or -1. Start with -1. */
static int next_either(const struct view *v, int last)
{
	int gpu = next_gpu(v, last), peer = next_peer(v, last);

	if (gpu < 0 || peer < 0)
		return gpu < 0 ? peer : gpu;
	return gpu < peer ? gpu : peer;
}

/* As next_either(), but skips devices passed to VMs: their group's type will change when a host driver binds. */
static int next_ours(const struct view *v, int last)
{
	do
		last = next_either(v, last);
	while (last >= 0 && is_for_guests(&v->machine.at[last]));
	return last;
}

static size_t count_that(const struct view *v, enum seen wanted)
{
	size_t n = 0;
	int i;

	for (i = next_ours(v, -1); i >= 0; i = next_ours(v, i))
		n += translates(&v->machine.at[i]) == wanted;
	return n;
}

/* Is the type of a group unknown, or are all GPUs and peers passed to VMs? */
static bool is_unseen(const struct view *v)
{
	return count_that(v, SEEN_UNKNOWN) || (next_ours(v, -1) < 0 && next_either(v, -1) >= 0);
}

static bool has_groups(const struct machine *m)
{
	size_t i;

	for (i = 0; i < m->count; i++)
		if (m->at[i].iommu_group != NO_GROUP)
			return true;
	return false;
}

void check_iommu(const struct view *v, struct report *r)
{
	if (!v->machine.count)
		return;
	if (!has_groups(&v->machine)) {
		report_add(r, HEALTH_OK, "machine", "no IOMMU in use");
	} else if (is_unseen(v)) {
		report_add(r, HEALTH_UNSEEN, "machine", "the IOMMU is in use; whether it translates cannot be seen");
		report_type(r, "cat /sys/kernel/iommu_groups/*/type; sudo dmesg | grep -i 'default domain type'");
	} else if (count_that(v, SEEN_YES)) {
		report_add(r, HEALTH_OK, "machine", "the IOMMU is in use, and translates for GPUs or peers");
	} else {
		report_add(r, HEALTH_OK, "machine", "the IOMMU does not translate for GPUs and peers");
	}
}

/* The kernel parameter that turns translation off. */
static const char *pass_through(const struct view *v)
{
	char value[16];

	return cpu_says(v, "CPU implementer", value, sizeof(value)) ? "iommu.passthrough=1" : "iommu=pt";
}

static size_t count_group(const struct view *v, int group)
{
	size_t i, n = 0;

	for (i = 0; i < v->machine.count; i++)
		n += v->machine.at[i].iommu_group == group;
	return n;
}

/* Writes "A B": devices that must be unbound while the group's type changes. Bridges may keep their driver. */
static void list_group(const struct view *v, int group, char *out, size_t size)
{
	size_t i, length = 0;

	*out = '\0';
	for (i = 0; i < v->machine.count; i++) {
		const struct device *d = &v->machine.at[i];

		if (d->iommu_group == group && d->kind != DEVICE_BRIDGE && length + sizeof(d->name) + 1 < size)
			length += (size_t)sprintf(out + length, "%s%s", length ? " " : "", d->name);
	}
}

static void type_change_group(const struct view *v, struct report *r, int group)
{
	char devices[720];

	if (count_group(v, group) > 1 && kernel_before(v, 6, 4)) {
		report_type(r, "apt install linux-image-amd64; reboot    # from Linux 6.4 on, the type of a group of "
			       "several devices can be changed; or another newer kernel");
		return;
	}
	list_group(v, group, devices, sizeof(devices));
	report_type(r, "cd /sys/bus/pci; all='%s'; for d in $all; do echo $d > devices/$d/driver/unbind; done; "
		       "echo identity > /sys/kernel/iommu_groups/%d/type; for d in $all; do echo $d > drivers_probe; "
		       "done    # stops all devices of the group meanwhile",
		    devices, group);
}

static void add_translated(const struct view *v, struct report *r, const struct device *d)
{
	report_add(r, HEALTH_WARN, d->name,
		   "the IOMMU translates for it (group %d, %s): transfers go through the root complex, and drivers "
		   "that use physical addresses fail",
		   d->iommu_group, d->iommu_type);
	if (booted_with(v, pass_through(v)))
		type_change_group(v, r, d->iommu_group);
	else
		report_type(r, "add %s to GRUB_CMDLINE_LINUX in /etc/default/grub; update-grub; reboot",
			    pass_through(v));
}

void check_iommu_translates(const struct view *v, struct report *r)
{
	int i;

	for (i = next_ours(v, -1); i >= 0; i = next_ours(v, i))
		if (translates(&v->machine.at[i]) == SEEN_YES)
			add_translated(v, r, &v->machine.at[i]);
}

/* With ATS the peer sends translated addresses. A switch can route them directly to the GPU, if its ACS allows that. */
static void add_ats(const struct view *v, struct report *r, const struct device *d)
{
	if (d->ats_on) {
		report_add(r, HEALTH_OK, d->name, "it asks the IOMMU for translations itself (ATS)");
	} else if (booted_with(v, "pci=noats")) {
		report_add(r, HEALTH_WARN, d->name,
			   "the IOMMU translates, and ATS is off by the kernel's command line");
		report_type(r, "remove pci=noats from GRUB_CMDLINE_LINUX in /etc/default/grub; update-grub; reboot");
	} else {
		report_add(r, HEALTH_WARN, d->name, "the IOMMU translates, and the device's ATS is off");
		report_type(r, "sudo dmesg | grep -i -e 'ATS' -e 'Device-TLB'; lspci -vvs %s | grep -A1 ATSCap",
			    d->name);
	}
}

void check_ats(const struct view *v, struct report *r)
{
	const struct device *d;
	int i;

	for (i = next_peer(v, -1); i >= 0; i = next_peer(v, i)) {
		d = &v->machine.at[i];
		if (translates(d) == SEEN_YES && d->has_ats)
			add_ats(v, r, d);
	}
}

// SPDX-License-Identifier: MIT
/* The IOMMU: GPUs and peers must see the same addresses, or all goes through the root complex. */
#include <string.h>
#include "checks.h"

/* GPUs, then peers; -1 first, -1 at the end. */
static int next_either(const struct view *v, int last)
{
	int gpu = next_gpu(v, last), peer = next_peer(v, last);

	if (gpu < 0 || peer < 0)
		return gpu < 0 ? peer : gpu;
	return gpu < peer ? gpu : peer;
}

/* Those that virtual machines have are their hosts' matter, and of a type that says nothing. */
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

/* Also where virtual machines have all there are */
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
		report_add(r, HEALTH_OK, "machine", "the IOMMU passes through what GPUs and peers do");
	}
}

/* The parameter of the kernel that makes it pass through. */
static const char *pass_through(const struct view *v)
{
	char value[16];

	return cpu_says(v, "CPU implementer", value, sizeof(value)) ? "iommu.passthrough=1" : "iommu=pt";
}

static void add_translated(const struct view *v, struct report *r, const struct device *d)
{
	report_add(r, HEALTH_WARN, d->name,
		   "the IOMMU translates for it (group %d, %s): transfers go through the root complex, and drivers "
		   "that use physical addresses fail",
		   d->iommu_group, d->iommu_type);
	if (booted_with(v, pass_through(v))) {
		report_type(r, "cd /sys/bus/pci; echo %s > drivers/%s/unbind; echo identity > "
			    "/sys/kernel/iommu_groups/%d/type; echo %s > drivers_probe",
			    d->name, *d->driver ? d->driver : "DRIVER", d->iommu_group, d->name);
	} else {
		report_type(r, "add %s to GRUB_CMDLINE_LINUX in /etc/default/grub; update-grub; reboot",
			    pass_through(v));
	}
}

void check_iommu_translates(const struct view *v, struct report *r)
{
	int i;

	for (i = next_ours(v, -1); i >= 0; i = next_ours(v, i))
		if (translates(&v->machine.at[i]) == SEEN_YES)
			add_translated(v, r, &v->machine.at[i]);
}

/* A peer that asks for translations itself can send to the GPU directly, if the switch lets it (ACS). */
static void add_ats(const struct view *v, struct report *r, const struct device *d)
{
	if (d->ats_on) {
		report_add(r, HEALTH_OK, d->name, "it asks the IOMMU for translations itself (ATS)");
	} else if (booted_with(v, "pci=noats")) {
		report_add(r, HEALTH_WARN, d->name,
			   "the IOMMU translates, and ATS is off by the kernel's command line");
		report_type(r, "remove pci=noats from GRUB_CMDLINE_LINUX in /etc/default/grub; update-grub; reboot");
	} else {
		report_add(r, HEALTH_WARN, d->name, "the IOMMU translates, and ATS, which the device has, is off");
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

// SPDX-License-Identifier: MIT
/* Host bridges: the kernel's p2pdma has a whitelist of them, and refuses transfers through all others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "checks.h"
#include "tool/doctor/pair.h"

enum {
	VENDOR_INTEL = 0x8086,
	VENDOR_GOOGLE = 0x1ae0,
	FAMILY_ZEN = 0x17,
};

/* Intel's host bridges on the whitelist; @one_bridge: only if GPU and peer are below the same host bridge. */
static const struct {
	uint16_t device;
	bool one_bridge;
} trusted[] = {
	{ 0x3c00, true },  { 0x3c01, true },  { 0x2f00, true },	 { 0x2f01, true },  { 0x2030, false },
	{ 0x2031, false }, { 0x2032, false }, { 0x2033, false }, { 0x2020, false }, { 0x09a2, false },
};

static bool is_trusted(const struct device *d, bool one_bridge)
{
	size_t i;

	if (d->vendor == VENDOR_GOOGLE)
		return true;
	for (i = 0; d->vendor == VENDOR_INTEL && i < sizeof(trusted) / sizeof(trusted[0]); i++)
		if (d->device == trusted[i].device)
			return one_bridge || !trusted[i].one_bridge;
	return false;
}

static bool cpu_is_trusted(const struct view *v)
{
	char vendor[32], family[16];

	return cpu_says(v, "vendor_id", vendor, sizeof(vendor)) && !strcmp(vendor, "AuthenticAMD") &&
	       cpu_says(v, "cpu family", family, sizeof(family)) && strtoul(family, NULL, 10) >= FAMILY_ZEN;
}

/* Returns the first function on the root bus of the device: the kernel identifies a host bridge by this function. */
static const struct device *host_bridge(const struct view *v, int index)
{
	const struct device *d = &v->machine.at[index];
	size_t i;

	for (i = 0; i < v->machine.count; i++)
		if (v->machine.at[i].parent == NO_PARENT && !strcmp(v->machine.at[i].root_bus, d->root_bus))
			return &v->machine.at[i];
	return d;
}

/* The first host bridge on the pair's path that is not on the whitelist; NULL: there is no such host bridge. */
static const struct device *distrusted(const struct view *v, const struct pair *p)
{
	const struct device *a = host_bridge(v, p->gpu), *b = host_bridge(v, p->peer);

	if (p->path.case_of_guide == PATH_SWITCHES_ONLY)
		return NULL;
	if (!is_trusted(a, a == b))
		return a;
	return is_trusted(b, a == b) ? NULL : b;
}

static const struct device *find_distrusted(const struct view *v)
{
	const struct device *found;
	struct pair p;
	int gpu, peer;

	for (gpu = next_gpu(v, -1); gpu >= 0; gpu = next_gpu(v, gpu)) {
		for (peer = next_peer(v, -1); peer >= 0; peer = next_peer(v, peer)) {
			pair_find(v, gpu, peer, &p);
			found = distrusted(v, &p);
			if (found)
				return found;
		}
	}
	return NULL;
}

/*
 * Adds a finding only if the kernel has p2pdma. NVIDIA's driver refuses such pairs since 580.65. peerpin maps by the DMA
 * API, which does not ask for the route: the transfers work on some hosts, and nothing refuses them on the others.
 */
void check_host_bridge(const struct view *v, struct report *r)
{
	const struct device *found;
	char value[8];

	if (!facts_config(&v->facts, "PCI_P2PDMA", value, sizeof(value)) || strcmp(value, "y"))
		return;
	found = cpu_is_trusted(v) ? NULL : find_distrusted(v);
	if (found) {
		report_add(r, HEALTH_WARN, found->name,
			   "host bridge %04x:%04x is not on the kernel's list: p2pdma (used by NVMe and others) and "
			   "NVIDIA's driver since 580.65 (ENOTSUPP) refuse transfers through it; peerpin does not",
			   found->vendor, found->device);
		report_type(r, "peerpin topo    # and move GPU and peer below one switch");
	}
}

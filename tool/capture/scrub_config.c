// SPDX-License-Identifier: MIT
/*
 * A device's configuration space may contain the serial number in several places: the serial number capability, vital
 * product data, vendor-specific capabilities. So keep only the header, the links of the capability lists, and the
 * bodies of the capabilities in the tables below.
 */
#include <string.h>
#include "tool/machine/pci_config.h"
#include "scrub.h"

struct body {
	uint16_t id;
	unsigned int size;
};

static const struct body capabilities[] = {
	{ 0x01, 8 },		/* power management */
	{ 0x0d, 8 },		/* subsystem of a bridge */
	{ PCI_CAP_EXPRESS, 20 },	/* size of the oldest version; another capability may follow directly */
};

static const struct body extended[] = {
	{ PCI_EXT_ACS, 8 },
	{ PCI_EXT_ATS, 8 },
	{ PCI_EXT_REBAR, 4 + 8 * 6 },
	{ 0x0010, 64 },		/* SR-IOV */
	{ 0x0013, 16 },		/* page requests */
	{ 0x001b, 8 },		/* PASID */
};

static unsigned int size_of(const struct body *table, size_t count, uint16_t id, unsigned int head)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (table[i].id == id)
			return table[i].size;
	return head;
}

static void keep(struct pci_config *to, const struct pci_config *from, unsigned int at, unsigned int size)
{
	if (at + size > from->size)
		size = at < from->size ? from->size - at : 0;
	memcpy(to->at + at, from->at + at, size);
}

/* @steps bounds the walk, because a list from an untrusted file may be a loop. */
static void keep_capabilities(struct pci_config *to, const struct pci_config *from)
{
	unsigned int steps = (PCI_AT_EXTENDED - PCI_CONFIG_UNPRIVILEGED) / 4;
	unsigned int at = config_u16(from, PCI_AT_CAPABILITIES) & 0xfc;
	uint16_t head;

	if (!(config_u16(from, PCI_AT_STATUS) & PCI_STATUS_CAPABILITIES))
		return;
	while (at >= PCI_CONFIG_UNPRIVILEGED && at + 2 <= from->size && steps--) {
		head = config_u16(from, at);
		keep(to, from, at, size_of(capabilities, sizeof(capabilities) / sizeof(*capabilities), head & 0xff, 2));
		at = head >> 8 & 0xfc;
	}
}

static void keep_extended(struct pci_config *to, const struct pci_config *from)
{
	unsigned int steps = (PCI_CONFIG_SIZE - PCI_AT_EXTENDED) / 4, at = PCI_AT_EXTENDED;
	uint32_t head;

	while (at >= PCI_AT_EXTENDED && at + 4 <= from->size && steps--) {
		head = config_u32(from, at);
		keep(to, from, at, size_of(extended, sizeof(extended) / sizeof(*extended), head & 0xffff, 4));
		at = head >> 20 & 0xffc;
	}
}

size_t scrub_config(char *text, size_t length)
{
	static struct pci_config from, to;

	from.size = length < sizeof(from.at) ? length : sizeof(from.at);
	memcpy(from.at, text, from.size);
	memset(&to, 0, sizeof(to));
	keep(&to, &from, 0, PCI_CONFIG_UNPRIVILEGED);
	keep_capabilities(&to, &from);
	keep_extended(&to, &from);
	memcpy(text, to.at, from.size);
	return from.size;
}

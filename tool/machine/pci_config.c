// SPDX-License-Identifier: MIT
#include "pci_config.h"

uint16_t config_u16(const struct pci_config *c, unsigned int at)
{
	if (at + 2 > c->size)
		return 0;
	return (uint16_t)(c->at[at] | c->at[at + 1] << 8);
}

uint32_t config_u32(const struct pci_config *c, unsigned int at)
{
	if (at + 4 > c->size)
		return 0;
	return config_u16(c, at) | (uint32_t)config_u16(c, at + 2) << 16;
}

/* @steps bounds the walk: a list with more members than the space has room for is a loop. */
unsigned int config_capability(const struct pci_config *c, uint8_t id)
{
	unsigned int at, steps = (PCI_AT_EXTENDED - PCI_CONFIG_UNPRIVILEGED) / 4;
	uint16_t head;

	if (!(config_u16(c, PCI_AT_STATUS) & PCI_STATUS_CAPABILITIES))
		return 0;
	at = config_u16(c, PCI_AT_CAPABILITIES) & 0xfc;
	while (at >= PCI_CONFIG_UNPRIVILEGED && at + 2 <= c->size && steps--) {
		head = config_u16(c, at);
		if ((head & 0xff) == id)
			return at;
		at = head >> 8 & 0xfc;
	}
	return 0;
}

unsigned int config_extended(const struct pci_config *c, uint16_t id)
{
	unsigned int at = PCI_AT_EXTENDED, steps = (PCI_CONFIG_SIZE - PCI_AT_EXTENDED) / 4;
	uint32_t head;

	while (at >= PCI_AT_EXTENDED && at + 4 <= c->size && steps--) {
		head = config_u32(c, at);
		if (head == UINT32_MAX)
			return 0;
		if ((head & 0xffff) == id)
			return at;
		at = head >> 20 & 0xffc;
	}
	return 0;
}

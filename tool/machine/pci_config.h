/* SPDX-License-Identifier: MIT */
/*
 * PCI configuration space, from an untrusted file. Capability lists may loop, or point
 * beyond the bytes that were read. Without root only 64 bytes can be read.
 */
#ifndef PCI_CONFIG_H
#define PCI_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	PCI_CONFIG_SIZE = 4096,
	PCI_CONFIG_UNPRIVILEGED = 64,

	PCI_AT_COMMAND = 0x04,
	PCI_AT_STATUS = 0x06,
	PCI_AT_HEADER_TYPE = 0x0e,
	PCI_AT_CAPABILITIES = 0x34,
	PCI_AT_EXTENDED = 0x100,

	PCI_COMMAND_MASTER = 1 << 2,
	PCI_STATUS_CAPABILITIES = 1 << 4,

	PCI_CAP_VPD = 0x03,
	PCI_CAP_EXPRESS = 0x10,
	PCI_EXT_SERIAL = 0x03,
	PCI_EXT_ACS = 0x0d,
	PCI_EXT_ATS = 0x0f,
	PCI_EXT_REBAR = 0x15,
};

/** struct pci_config - the bytes that could be read */
struct pci_config {
	uint8_t at[PCI_CONFIG_SIZE];
	size_t size;
};

/* Read a number at offset @at; 0 beyond @c->size. */
uint16_t config_u16(const struct pci_config *c, unsigned int at);
uint32_t config_u32(const struct pci_config *c, unsigned int at);

/* Returns the offset of a capability, or 0 if not found. */
unsigned int config_capability(const struct pci_config *c, uint8_t id);

/* Returns the offset of an extended capability, or 0 if not found. */
unsigned int config_extended(const struct pci_config *c, uint16_t id);

#endif

/* SPDX-License-Identifier: MIT */
/* What people call a device. */
#ifndef PCI_NAME_H
#define PCI_NAME_H

#include "machine.h"

/** struct pci_name - returned by value */
struct pci_name {
	char at[128];
};

/* Such as "Mellanox Technologies MT2910 Family [ConnectX-7]"; numbers where there is no list of names. */
struct pci_name pci_name(const struct device *d);

/* Short, for where there is little room: "ConnectX-7". */
struct pci_name pci_model(const struct device *d);

#endif

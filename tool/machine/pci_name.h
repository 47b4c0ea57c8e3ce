/* SPDX-License-Identifier: MIT */
/* Names of devices from pci.ids. */
#ifndef PCI_NAME_H
#define PCI_NAME_H

#include "machine.h"

/** struct pci_name - a name, returned by value */
struct pci_name {
	char at[128];
};

/* The full name: "Mellanox Technologies MT2910 Family [ConnectX-7]"; numbers if pci.ids is not installed. */
struct pci_name pci_name(const struct device *d);

/* The short name: "ConnectX-7". */
struct pci_name pci_model(const struct device *d);

#endif

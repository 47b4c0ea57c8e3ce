/* SPDX-License-Identifier: MIT */
/* One PCI device, out of its files; where it is among the others is machine.c's. */
#ifndef PCI_DEVICE_H
#define PCI_DEVICE_H

#include "machine.h"

/* Is it a PCI address, with its domain? */
bool is_pci_address(const char *name);

/* All of @d but @parent, @root_bus, @kind and what is inferred. @d->name is set, the rest is 0. */
void device_read(const struct tree *t, struct device *d);

/* Needs all but @port. */
enum device_kind device_kind_of(const struct device *d);

#endif

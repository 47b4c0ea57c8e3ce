/* SPDX-License-Identifier: MIT */
/* Reads one PCI device from its files; machine.c finds its position in the topology. */
#ifndef PCI_DEVICE_H
#define PCI_DEVICE_H

#include "machine.h"

/* Is @name a PCI address with a domain? */
bool is_pci_address(const char *name);

/* Sets all of @d but @parent, @root_bus, @kind and inferred fields. The caller has set @d->name; the rest is 0. */
void device_read(const struct tree *t, struct device *d);

/* Needs all fields but @port. */
enum device_kind device_kind_of(const struct device *d);

#endif

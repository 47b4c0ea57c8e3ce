/* SPDX-License-Identifier: MIT */
/* Reads one PCI device from its files; machine.c finds its position in the topology. */
#ifndef PCI_DEVICE_H
#define PCI_DEVICE_H

#include "machine.h"

/* Is @name a PCI address with a domain? */
bool is_pci_address(const char *name);

/*
 * Sets all fields of @d except @parent, @root_bus, @kind and an inferred @port. On entry @d->name is set, and all other
 * fields are 0.
 */
void device_read(const struct tree *t, struct device *d);

/* Returns the kind of a device of which all fields are set except @kind and @port. */
enum device_kind device_kind_of(const struct device *d);

#endif

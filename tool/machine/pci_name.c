// SPDX-License-Identifier: MIT
#include <pci/pci.h>
#include <stdio.h>
#include <string.h>
#include "pci_name.h"

__attribute__((format(printf, 1, 2)))
static void say_nothing(char *format, ...)
{
	(void)format;
}

/* Loads pci.ids (30,000 lines) once and keeps it. Without pci_init() libpci accesses no device. */
static struct pci_access *names(void)
{
	static struct pci_access *access;

	if (access)
		return access;
	access = pci_alloc();
	access->warning = say_nothing;
	access->debug = say_nothing;
	return access;
}

/* Replaces all bytes that are not ASCII, because a long name may be cut within a UTF-8 character. */
static struct pci_name look_up(const struct device *d, int flags)
{
	struct pci_name name;
	char text[512], *c;

	snprintf(name.at, sizeof(name.at), "%s",
		 pci_lookup_name(names(), text, sizeof(text), flags, d->vendor, d->device));
	for (c = name.at; *c; c++)
		if (*c & 0x80)
			*c = '?';
	return name;
}

struct pci_name pci_name(const struct device *d)
{
	return look_up(d, PCI_LOOKUP_VENDOR | PCI_LOOKUP_DEVICE);
}

/* Some names in pci.ids end with the product name in brackets: then return only the product name. */
struct pci_name pci_model(const struct device *d)
{
	struct pci_name name = look_up(d, PCI_LOOKUP_DEVICE);
	char *begin = strrchr(name.at, '['), *end = strrchr(name.at, ']');

	if (!begin || !end || end < begin + 2)
		return name;
	*end = '\0';
	memmove(name.at, begin + 1, (size_t)(end - begin));
	return name;
}

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

/* The list is read at the first name, and kept: it has 30,000 lines. No device is touched: that takes pci_init(). */
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

/* Names are cut where there is no room, and half a letter would be no text. */
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

/* The list has names for engineers, and behind some of them, in brackets, what is printed on the box. */
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

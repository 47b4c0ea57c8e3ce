/* SPDX-License-Identifier: MIT */
/* Whether GPU 0 lends its memory to the kernel (emugpu.p2pdma=1), and whether it must. */
#ifndef TEST_LENDS_H
#define TEST_LENDS_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/vm/harness/emu.h"
#include "test/vm/harness/kallsyms.h"

/* The sysfs directory of GPU 0; "": there is no GPU. */
static inline const char *lends_gpu(void)
{
	static char path[PATH_MAX];
	struct emugpu_info info;
	char link[64];
	int fd = emu_open(), err = emu_info(fd, 0, &info);

	close(fd);
	snprintf(link, sizeof(link), "/sys/bus/pci/devices/%04x:%02x:%02x.%x", info.out_domain, info.out_bus,
		 info.out_device, info.out_function);
	return err || !realpath(link, path) ? "" : path;
}

/* True if GPU 0 lends pages. Read from sysfs, because the library is under test. */
static inline int lends_pages(void)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/p2pmem", lends_gpu());
	return !access(path, F_OK);
}

/*
 * True below a switch with an IOMMU: there the emulator refuses to lend. The path of such a GPU is
 * "/sys/devices/pci0000:00/PORT/UPSTREAM/DOWNSTREAM/GPU".
 */
static inline int lends_astray(void)
{
	const char *at = lends_gpu();
	int devices = 0;

	while ((at = strchr(at, '/'))) {
		at++;
		devices++;
	}
	return devices >= 7 && !system("ls -A /sys/kernel/iommu_groups | grep -q .");
}

/* False if there are no pages although p2pdma=1 is set and the kernel can lend: a SKIP would hide a failure. */
static inline int lends_as_it_must(void)
{
	char asked = 'N';
	FILE *f = fopen("/sys/module/emugpu/parameters/p2pdma", "re");

	if (f) {
		asked = (char)getc(f);
		fclose(f);
	}
	return lends_pages() || asked != 'Y' || !symbol_at("pci_p2pdma_add_resource") || lends_astray();
}

#endif

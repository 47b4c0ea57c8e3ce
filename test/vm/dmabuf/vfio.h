/* SPDX-License-Identifier: MIT */
/* A PCI device that vfio-pci drives for this process. Calls return 0 or -errno, or a descriptor. */
#ifndef TEST_VFIO_H
#define TEST_VFIO_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	VFIO_BAR = 2,	/* BAR of the emulated GPU's memory */
	VFIO_RANGES = 2,
};

/* Since Linux 6.19; the headers of Debian 12 lack this feature. */
struct vfio_range {
	uint64_t offset;
	uint64_t length;
};

struct vfio_dmabuf_feature {
	struct vfio_device_feature feature;
	uint32_t region_index;
	uint32_t open_flags;
	uint32_t flags;
	uint32_t nr_ranges;
	struct vfio_range ranges[VFIO_RANGES];
};

enum { VFIO_FEATURE_DMA_BUF = 11 };

static char vfio_address[32];	/* PCI address */
static int vfio_container = -1, vfio_group = -1, vfio_device = -1;

static inline int vfio_sysfs(const char *file, const char *text)
{
	char path[128];
	int node, err;

	snprintf(path, sizeof(path), "/sys/bus/pci/%s", file);
	node = open(path, O_WRONLY | O_CLOEXEC);
	err = node < 0 || write(node, text, strlen(text)) < 0 ? -errno : 0;
	close(node);
	return err;
}

/* The device at vfio_address has no driver. Give it to vfio-pci. The IOMMU of the VM does not remap interrupts. */
static inline int vfio_take(void)
{
	char file[96];

	if (system("modprobe vfio_iommu_type1 allow_unsafe_interrupts=1 && modprobe vfio-pci"))
		return -ENOPKG;
	snprintf(file, sizeof(file), "devices/%s/driver_override", vfio_address);
	return vfio_sysfs(file, "vfio-pci") ?: vfio_sysfs("drivers_probe", vfio_address);
}

/* Give the device back to its own driver. */
static inline int vfio_return(void)
{
	char file[96];

	snprintf(file, sizeof(file), "devices/%s/driver_override", vfio_address);
	return vfio_sysfs("drivers/vfio-pci/unbind", vfio_address) ?: vfio_sysfs(file, "\n") ?:
	       vfio_sysfs("drivers_probe", vfio_address) ?: system("modprobe -r vfio-pci vfio_iommu_type1");
}

static inline int vfio_open_group(void)
{
	char path[96], link[PATH_MAX], name[32];
	ssize_t n;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group", vfio_address);
	n = readlink(path, link, sizeof(link) - 1);
	if (n < 0)
		return -errno;
	link[n] = '\0';
	snprintf(name, sizeof(name), "/dev/vfio/%.16s", strrchr(link, '/') + 1);
	vfio_group = open(name, O_RDWR | O_CLOEXEC);
	return vfio_group < 0 ? -errno : 0;
}

/* Let the device decode its BARs. */
static inline int vfio_decode(int on)
{
	struct vfio_region_info config = { .argsz = sizeof(config), .index = VFIO_PCI_CONFIG_REGION_INDEX };
	uint16_t command;

	if (ioctl(vfio_device, VFIO_DEVICE_GET_REGION_INFO, &config) ||
	    pread(vfio_device, &command, sizeof(command), config.offset + PCI_COMMAND) != sizeof(command))
		return -errno;
	command = on ? command | PCI_COMMAND_MEMORY : command & ~PCI_COMMAND_MEMORY;
	return pwrite(vfio_device, &command, sizeof(command), config.offset + PCI_COMMAND) == sizeof(command) ? 0 : -errno;
}

static inline int vfio_open(void)
{
	int err;

	vfio_container = open("/dev/vfio/vfio", O_RDWR | O_CLOEXEC);
	if (vfio_container < 0)
		return -errno;
	err = vfio_open_group();
	if (err)
		return err;
	if (ioctl(vfio_group, VFIO_GROUP_SET_CONTAINER, &vfio_container) ||
	    ioctl(vfio_container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU))
		return -errno;
	vfio_device = ioctl(vfio_group, VFIO_GROUP_GET_DEVICE_FD, vfio_address);
	return vfio_device < 0 ? -errno : vfio_decode(1);
}

static inline void vfio_close(void)
{
	close(vfio_device);
	close(vfio_group);
	close(vfio_container);
}

static inline int vfio_reset(void)
{
	return ioctl(vfio_device, VFIO_DEVICE_RESET) ? -errno : 0;
}

/* A dma-buf of @n ranges of the BAR */
static inline int vfio_export(const struct vfio_range *ranges, unsigned int n)
{
	struct vfio_dmabuf_feature f = {
		.feature = { .argsz = sizeof(f), .flags = VFIO_DEVICE_FEATURE_GET | VFIO_FEATURE_DMA_BUF },
		.region_index = VFIO_BAR,
		.open_flags = O_RDWR | O_CLOEXEC,
		.nr_ranges = n,
	};
	int out;

	memcpy(f.ranges, ranges, n * sizeof(*ranges));
	out = ioctl(vfio_device, VFIO_DEVICE_FEATURE, &f);
	return out < 0 ? -errno : out;
}

/* The first @length bytes of the BAR, for the CPU */
static inline void *vfio_map(uint64_t length)
{
	struct vfio_region_info bar = { .argsz = sizeof(bar), .index = VFIO_BAR };

	if (ioctl(vfio_device, VFIO_DEVICE_GET_REGION_INFO, &bar))
		return MAP_FAILED;
	return mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, vfio_device, bar.offset);
}

#endif

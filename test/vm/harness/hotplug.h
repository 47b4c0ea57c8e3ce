/* SPDX-License-Identifier: MIT */
/*
 * PCI devices that are removed and found again while in use. The name of a device is its address,
 * like "0000:00:03.0". Calls return 0 or -errno.
 */
#ifndef TEST_HOTPLUG_H
#define TEST_HOTPLUG_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "emu/include/emugpu.h"

struct hotplug {
	char address[16];
};

static inline int hotplug_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return err;
}

/* Unbind the driver from the device. hotplug_bind() binds it again. */
static inline int hotplug_unbind(const char *driver, const struct hotplug *device)
{
	char path[80];

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/%s/unbind", driver);
	return hotplug_write(path, device->address);
}

static inline int hotplug_bind(const char *driver, const struct hotplug *device)
{
	char path[80];

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/%s/bind", driver);
	return hotplug_write(path, device->address);
}

/* Remove the device. Unlike in a real hot-unplug, the driver still reaches the device meanwhile. */
static inline int hotplug_remove(const struct hotplug *device)
{
	char path[80];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/remove", device->address);
	return hotplug_write(path, "1");
}

/* Find all removed devices again. */
static inline int hotplug_rescan(void)
{
	return hotplug_write("/sys/bus/pci/rescan", "1");
}

static inline struct hotplug hotplug_gpu(const struct emugpu_info *info)
{
	struct hotplug device;

	snprintf(device.address, sizeof(device.address), "%04x:%02x:%02x.%x", info->out_domain & 0xffff, info->out_bus,
		 info->out_device, info->out_function & 7);
	return device;
}

/* The device of /dev/@node. The address is empty if there is no such node. */
static inline struct hotplug hotplug_of_node(const char *node)
{
	struct hotplug device = { "" };
	char path[80], target[256] = "";
	const char *name;

	snprintf(path, sizeof(path), "/sys/class/misc/%s/device", node);
	if (readlink(path, target, sizeof(target) - 1) < 0)
		return device;
	name = strrchr(target, '/');
	snprintf(device.address, sizeof(device.address), "%.15s", name ? name + 1 : target);
	return device;
}

#endif

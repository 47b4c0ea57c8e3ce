// SPDX-License-Identifier: MIT
#include <cuda.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "libpeerpin.h"
#include "machine.h"
#include "say.h"
#include "tool/util/units.h"

/* Return 0, or -errno with "unknown" in @out. */
static int read_line(const char *path, char *out, size_t room)
{
	FILE *f = fopen(path, "re");
	int ret = f ? 0 : -errno;

	if (f && !fgets(out, (int)room, f))
		ret = -EIO;
	if (ret)
		snprintf(out, room, "unknown");
	out[strcspn(out, "\n")] = '\0';
	if (f)
		fclose(f);
	return ret;
}

static int no_gpu(int error)
{
	if (error == -ENOENT)
		return failed("GPU", "libnvidia-ml.so.1 not found; install the GPU's driver, or type: make demo");
	if (error == -ENODEV)
		return failed("GPU", "no GPU, or its driver is not loaded; see lspci, then type: modprobe nvidia (emulated GPU: modprobe emugpu)");
	return failed("GPU", "libnvidia-ml.so.1 fails (%s); see the kernel's log: dmesg",
		      strerror(-error));
}

int machine_gpu(uint64_t *bar1_used)
{
	struct pp_bar1 bar1;
	char reserved[32];
	int ret = pp_bar1(0, &bar1);

	if (ret)
		return no_gpu(ret);
	*bar1_used = bar1.used;
	read_line("/sys/module/emugpu/parameters/bar1_reserve_mib", reserved,
		  sizeof(reserved));
	say("GPU", "%s at %s", bar1.name, bar1.pci);
	say("BAR1", "total %s, used %s, reserved by the driver %s%s",
	    text_mib(bar1.total).at, text_mib(bar1.used).at, reserved,
	    strcmp(reserved, "unknown") ? " MiB" : "");
	return 0;
}

int machine_integrated_gpu(void)
{
	char name[96];
	CUresult r = cuDeviceGetName(name, sizeof(name), 0);

	if (r)
		return cuda_failed("GPU", r);
	say("GPU", "%s, integrated: peers reach host memory, and there is no BAR1", name);
	return 0;
}

/* The last component of the link's target: the PCI address of a device */
static int device_of(const char *link, char *out, size_t room)
{
	char target[256];
	ssize_t n = readlink(link, target, sizeof(target) - 1);
	const char *at;

	if (n < 0)
		return failed("peer", "%s: %s; type: mount -t sysfs sysfs /sys",
			      link, strerror(errno));
	target[n] = '\0';
	at = strrchr(target, '/');
	snprintf(out, room, "%s", at ? at + 1 : target);
	return 0;
}

/* The type of the IOMMU domain from /sys; "none" if the device has no group */
static int iommu_type(const char *device, char *out, size_t room)
{
	char path[320];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", device);
	if (access(path, F_OK))
		return -errno;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group",
		 device);
	if (access(path, F_OK) && errno == ENOENT) {
		snprintf(out, room, "none");
		return 0;
	}
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group/type",
		 device);
	return read_line(path, out, room);
}

/* Only an IOMMU domain of type DMA translates. With other types, bus addresses are physical addresses. */
static int say_iommu(const char *device)
{
	char type[32];
	int ret = iommu_type(device, type, sizeof(type));

	if (ret)
		return failed("IOMMU", "cannot read /sys (%s); type: mount -t sysfs sysfs /sys",
			      strerror(-ret));
	if (!strncmp(type, "DMA", 3))
		say("IOMMU", "translates the addresses of the peer (%s)",
		    type);
	else if (!strcmp(type, "none") || !strcmp(type, "identity"))
		say("IOMMU", "none in the path: bus addresses are physical");
	else
		return failed("IOMMU", "domain type %s blocks all DMA of the peer",
			      type);
	return 0;
}

int machine_peer(const char *name)
{
	char link[64], device[256];

	snprintf(link, sizeof(link), "/sys/class/misc/%s/device", name);
	if (device_of(link, device, sizeof(device)))
		return 1;
	say("peer", "%s at %s", name, device);
	return say_iommu(device);
}

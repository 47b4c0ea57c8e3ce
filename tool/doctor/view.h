/* SPDX-License-Identifier: MIT */
/* The input of doctor's checks: files, devices and facts of a machine. */
#ifndef DOCTOR_VIEW_H
#define DOCTOR_VIEW_H

#include "tool/machine/facts.h"
#include "tool/machine/machine.h"

enum driver_kind {
	DRIVER_NONE,		/* no GPU has a known driver */
	DRIVER_OPEN,
	DRIVER_PROPRIETARY,
	DRIVER_NVIDIA,		/* open or proprietary: its /proc file does not say */
	DRIVER_EMULATED,
};

/** struct gpu_driver - @version: 525.105.17 is {525, 105, 17}; all 0 if unknown */
struct gpu_driver {
	enum driver_kind kind;
	unsigned int version[3];
	char text[32];
};

/**
 * struct view - @pci_error: 0, or -errno: reading the PCI devices failed, @machine is empty
 */
struct view {
	const struct tree *tree;
	struct machine machine;
	int pci_error;
	struct facts facts;
	struct gpu_driver driver;
	char *modules;		/* /proc/modules, NULL if it cannot be read */
	char cmdline[2048];
	char cpuinfo[4096];
	unsigned int kernel[2];	/* 5.12 is {5, 12} */
};

/* Returns 0 or -errno. Call view_close() only after a 0. */
int view_open(const struct tree *tree, struct view *out);
void view_close(struct view *v);

/* Iterate over the devices; start with -1, -1: end. */
int next_gpu(const struct view *v, int last);
int next_peer(const struct view *v, int last);

/* An RDMA device, NVMe disk or accelerator, or a device of a driver that uses peerpin; never a GPU. */
bool could_be_peer(const struct device *d);

/* Can other drivers get GPU memory from this GPU's driver? */
bool lends_memory(const struct device *gpu);

/* Is the device bound to a driver that reserves it for VMs? */
bool is_for_guests(const struct device *d);
size_t count_gpus(const struct view *v);
bool has_rdma(const struct view *v);

/* "0000:3b:00.0" of a device */
const char *address(const struct view *v, int index);

enum seen module_loaded(const struct view *v, const char *name);
bool kernel_before(const struct view *v, unsigned int major, unsigned int minor);
bool driver_before(const struct view *v, unsigned int a, unsigned int b, unsigned int c);

/* Is @word one of the words of the kernel's command line? */
bool booted_with(const struct view *v, const char *word);

/* The value of a key in /proc/cpuinfo: "23" for "cpu family : 23". False if the key is not found. */
bool cpu_says(const struct view *v, const char *key, char *value, size_t size);
bool cpu_is_power8(const struct view *v);

/* A Jetson or Drive board, or its emulation: the integrated GPU is not a PCI device. */
bool is_tegra(const struct view *v);

/* Does peerpin run in a container? @hint: the file or word that proves it. */
bool in_container(const struct view *v, const char **hint);

/*
 * Only CAP_SYS_ADMIN may read all of the configuration space of @d. who_sees() names what is missing: "root",
 * "CAP_SYS_ADMIN" (root in a container), or extended configuration space. how_to_see(): the command to type.
 */
const char *who_sees(const struct view *v, const struct device *d);
const char *how_to_see(const struct view *v, const struct device *d);

/* Does the IOMMU translate addresses of this device? Unknown if its group's type cannot be read or does not say. */
enum seen translates(const struct device *d);

#endif

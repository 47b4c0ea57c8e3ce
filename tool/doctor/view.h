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
	DRIVER_NVIDIA,		/* open or proprietary: the driver's /proc file does not say */
	DRIVER_EMULATED,
};

/** struct gpu_driver - @version: 525.105.17 is {525, 105, 17}; all 0 if unknown */
struct gpu_driver {
	enum driver_kind kind;
	unsigned int version[3];
	char text[32];
};

/**
 * struct view - @pci_error: 0, or -errno if the PCI devices could not be read; @machine is empty then
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

/* Returns 0 or -errno. Call view_close() only after 0. */
int view_open(const struct tree *tree, struct view *out);
void view_close(struct view *v);

/* Index of the first GPU or peer after index @last, or -1. Start with -1. */
int next_gpu(const struct view *v, int last);
int next_peer(const struct view *v, int last);

/* An RDMA device, NVMe disk or accelerator, or a device of a driver that uses peerpin; never a GPU. */
bool could_be_peer(const struct device *d);

/* Can other drivers get GPU memory from this GPU's driver? */
bool lends_memory(const struct device *gpu);

/* Is the device bound to a driver that reserves the device for VMs? */
bool is_for_guests(const struct device *d);
size_t count_gpus(const struct view *v);
bool has_rdma(const struct view *v);

/* PCI address of a device: "0000:3b:00.0" */
const char *address(const struct view *v, int index);

enum seen module_loaded(const struct view *v, const char *name);
bool kernel_before(const struct view *v, unsigned int major, unsigned int minor);
bool driver_before(const struct view *v, unsigned int a, unsigned int b, unsigned int c);

/* Is @word one of the words of the kernel's command line? */
bool booted_with(const struct view *v, const char *word);

/* Copies the value of a key in /proc/cpuinfo: "23" for "cpu family : 23". False if the key is not found. */
bool cpu_says(const struct view *v, const char *key, char *value, size_t size);
bool cpu_is_power8(const struct view *v);

/* Is this a Jetson or Drive board, or its emulation? The integrated GPU is not a PCI device. */
bool is_tegra(const struct view *v);

/* Does peerpin run in a container? @hint: the file or word that proves it. */
bool in_container(const struct view *v, const char **hint);

/*
 * Reading all of the configuration space of @d needs CAP_SYS_ADMIN. who_sees() names the missing condition: "root",
 * "CAP_SYS_ADMIN" (for root in a container), or extended configuration space. how_to_see() returns the command to type.
 */
const char *who_sees(const struct view *v, const struct device *d);
const char *how_to_see(const struct view *v, const struct device *d);

/* Does the IOMMU translate addresses of this device? Unknown if the type of its group is not readable or ambiguous. */
enum seen translates(const struct device *d);

#endif

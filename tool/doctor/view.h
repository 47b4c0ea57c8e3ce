/* SPDX-License-Identifier: MIT */
/* All that doctor's checks look at: a machine's files, devices and facts. */
#ifndef DOCTOR_VIEW_H
#define DOCTOR_VIEW_H

#include "tool/machine/facts.h"
#include "tool/machine/machine.h"

enum driver_kind {
	DRIVER_NONE,		/* no GPU has a driver that is known here */
	DRIVER_OPEN,
	DRIVER_PROPRIETARY,
	DRIVER_NVIDIA,		/* one of both: its /proc file does not tell */
	DRIVER_EMULATED,
};

/** struct gpu_driver - @version: 525.105.17 is {525, 105, 17}; all 0 if unknown */
struct gpu_driver {
	enum driver_kind kind;
	unsigned int version[3];
	char text[32];
};

/**
 * struct view - @pci_error: 0, or why there are no devices in @machine
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

/* 0 or -errno. view_close() is for after a 0 only. */
int view_open(const struct tree *tree, struct view *out);
void view_close(struct view *v);

/* Devices one after the other: -1 first, -1 at the end. */
int next_gpu(const struct view *v, int last);
int next_peer(const struct view *v, int last);

/* Could it move data from and to GPU memory, with a driver there is? Not so a GPU, disk or card that is just a card. */
bool could_be_peer(const struct device *d);

/* Has the GPU a driver from which others can have its memory? */
bool lends_memory(const struct device *gpu);

/* Has it a driver that keeps it for virtual machines? */
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

/* What "cpu family : 23" of /proc/cpuinfo says: "23". False if there is no such line. */
bool cpu_says(const struct view *v, const char *key, char *value, size_t size);
bool cpu_is_power8(const struct view *v);

/* A Jetson or Drive board, or the emulation of one: its GPU is no PCI device. */
bool is_tegra(const struct view *v);

/* Does it run in a container? @hint is the file or word that says so. */
bool in_container(const struct view *v, const char **hint);

/*
 * The kernel shows all of the configuration space of @d to CAP_SYS_ADMIN only: "root",
 * or that, which root of a container lacks, or what the machine lacks; and what to type.
 */
const char *who_sees(const struct view *v, const struct device *d);
const char *how_to_see(const struct view *v, const struct device *d);

/* Does the IOMMU map addresses of this device? Unknown where its group's type is not seen, or says nothing. */
enum seen translates(const struct device *d);

#endif

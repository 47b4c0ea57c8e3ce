/* SPDX-License-Identifier: MIT */
/* The functions of NVIDIA's management library (NVML) that pp_bar1() needs. */
#ifndef PP_NVML_H
#define PP_NVML_H

enum {
	PP_NVML_SUCCESS = 0,
	PP_NVML_INVALID_ARGUMENT = 2,
	PP_NVML_NOT_SUPPORTED = 3,
	PP_NVML_DRIVER_NOT_LOADED = 9,
};

/** struct pp_nvml_pci - nvmlPciInfo_t */
struct pp_nvml_pci {
	char bus_id_legacy[16];
	unsigned int domain;
	unsigned int bus;
	unsigned int device;
	unsigned int device_id;
	unsigned int subsystem_id;
	char bus_id[32];
};

/** struct pp_nvml_bar1 - nvmlBAR1Memory_t, bytes */
struct pp_nvml_bar1 {
	unsigned long long total;
	unsigned long long free;
	unsigned long long used;
};

/** struct pp_nvml - functions of NVML; a device is an opaque pointer */
struct pp_nvml {
	int (*init)(void);
	int (*by_index)(unsigned int index, void **device);
	int (*name)(void *device, char *out, unsigned int length);
	int (*uuid)(void *device, char *out, unsigned int length);
	int (*pci)(void *device, struct pp_nvml_pci *out);
	int (*bar1)(void *device, struct pp_nvml_bar1 *out);
};

/**
 * pp_nvml - load and initialise NVML, once
 *
 * Return: 0; -ENOENT NVML is not installed; -ENODEV NVIDIA's driver is not loaded;
 * -EIO. After an error the next call tries again.
 */
int pp_nvml(const struct pp_nvml **out);

#endif

/* SPDX-License-Identifier: MIT */
/* device: the GPUs and their handles. */
#ifndef DEVICE_H
#define DEVICE_H

#include "node.h"

#include <nvml.h>
#include <stdbool.h>

enum { DEVICE_UUID_SIZE = sizeof("GPU-00000000-0000-0000-0000-000000000000") };

/* device_get - first check of each function on a device: nvmlInit() called, arguments valid, GPU present */
nvmlReturn_t device_get(nvmlDevice_t device, const void *out, struct emugpu_info *info);

/* device_print_uuid - print the UUID of a GPU to @out, which has DEVICE_UUID_SIZE bytes */
void device_print_uuid(char *out, const struct emugpu_info *info);

#endif

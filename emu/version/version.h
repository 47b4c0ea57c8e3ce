/* SPDX-License-Identifier: MIT */
/* The version of NVIDIA's driver that the emulator plays: /sys/module/emugpu/version */
#ifndef EMU_VERSION_H
#define EMU_VERSION_H

/**
 * struct driver_version - a branch of NVIDIA's driver
 * @branch: first number of @text
 * @text: a whole version of the branch
 * @cuda: version of CUDA that the branch brought
 */
struct driver_version {
	unsigned int branch;
	const char *text;
	int cuda;
};

/* Any thread. Reads the version of the module in the first call; if it cannot be read, the version is the default. */
const struct driver_version *driver_version(void);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef FACTS_NVLINK_H
#define FACTS_NVLINK_H

#include <stdio.h>

/*
 * Asks NVML for the NVLinks between the GPUs, and writes a line "nvlink PCI PCI LINKS" for each pair of GPUs that has
 * some, and "nvlinks known". Writes nothing if NVML does not answer.
 */
void tell_nvlinks(FILE *out);

#endif

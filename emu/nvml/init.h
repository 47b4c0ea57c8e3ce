/* SPDX-License-Identifier: MIT */
#ifndef INIT_H
#define INIT_H

#include <nvml.h>

/* lib_ready - NVML_SUCCESS between nvmlInit() and nvmlShutdown() of this process, else NVML_ERROR_UNINITIALIZED */
nvmlReturn_t lib_ready(void);

#endif

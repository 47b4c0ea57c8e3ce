/* SPDX-License-Identifier: MIT */
#ifndef INIT_H
#define INIT_H

#include <nvml.h>

/* lib_ready - NVML_ERROR_UNINITIALIZED unless between nvmlInit() and nvmlShutdown() of this process */
nvmlReturn_t lib_ready(void);

#endif

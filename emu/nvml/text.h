/* SPDX-License-Identifier: MIT */
#ifndef TEXT_H
#define TEXT_H

#include <nvml.h>

/* text_put - print to the caller's buffer; NVML_ERROR_INSUFFICIENT_SIZE: too small, and nothing is written */
__attribute__((format(printf, 3, 4)))
nvmlReturn_t text_put(char *out, unsigned int length, const char *format, ...);

#endif

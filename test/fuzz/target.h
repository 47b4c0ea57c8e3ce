/* SPDX-License-Identifier: MIT */
/* The interface of a fuzz target, as replay.c and libFuzzer use it. */
#ifndef TARGET_H
#define TARGET_H

#include <stddef.h>
#include <stdint.h>

/* Number of forms of an input; with more than one, the upper half of the first byte selects the form. */
extern const unsigned int target_forms;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif

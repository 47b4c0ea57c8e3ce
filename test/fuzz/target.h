/* SPDX-License-Identifier: MIT */
/* What replay.c knows of a target, which is a program that looks at inputs of libFuzzer. */
#ifndef TARGET_H
#define TARGET_H

#include <stddef.h>
#include <stdint.h>

/* In how many forms it looks at an input; the upper half of the first byte says in which, if there is more than one. */
extern const unsigned int target_forms;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#endif

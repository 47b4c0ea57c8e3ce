/* SPDX-License-Identifier: MIT */
/* peerpin doctor: what of a machine keeps GPUs and peers apart. */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <stdbool.h>
#include <stdio.h>
#include "tool/machine/tree.h"

/* The report on a machine; EXIT_FAILED if a check fails, or after fail(). */
int doctor_examine(const struct tree *tree, bool json, FILE *file);

#endif

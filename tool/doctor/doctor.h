/* SPDX-License-Identifier: MIT */
/* peerpin doctor: finds the causes that prevent or slow transfers between GPUs and peers. */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <stdbool.h>
#include <stdio.h>
#include "tool/machine/tree.h"

/* Prints the report on a machine. Returns EXIT_FAILED if a check fails, or after fail(). */
int doctor_examine(const struct tree *tree, bool json, FILE *file);

#endif

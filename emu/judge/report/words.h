/* SPDX-License-Identifier: MIT */
/* Describes a scenario in words. */
#ifndef VERIFY_WORDS_H
#define VERIFY_WORDS_H

#include <stdio.h>
#include "summary.h"

/* "N of M scenarios were not tried: KIND N, KIND N", for scenarios that were planned */
void words_of_left(FILE *file, const struct summary *summary);

/* What the test should do better; NULL: nothing */
const char *words_of_test(const struct summary *summary);

void words_of_scenario(FILE *file, const struct scenario *scenario, const struct recording *recording);

#endif

/* SPDX-License-Identifier: MIT */
/* Describes a scenario in words. */
#ifndef VERIFY_WORDS_H
#define VERIFY_WORDS_H

#include <stdio.h>
#include "emu/judge/result/scenarios.h"

void words_of_scenario(FILE *file, const struct scenario *scenario, const struct recording *recording);

#endif

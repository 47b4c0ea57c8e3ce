/* SPDX-License-Identifier: MIT */
/* Finds in the kernel log why a VM died during a scenario, and splats after the last scenario. */
#ifndef VERIFY_DEATH_H
#define VERIFY_DEATH_H

#include "emu/judge/result/result.h"

/* The VM died in the scenario of @result: adds findings and log lines since the start of that scenario. */
void death_judge(struct result *result, const char *log);

/* The VM ended normally: adds splats that were logged after the end of the last scenario, @result. */
void death_judge_late(struct result *result, const char *log);

#endif

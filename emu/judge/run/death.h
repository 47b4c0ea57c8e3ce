/* SPDX-License-Identifier: MIT */
/* Reads the kernel log: why a VM died during a scenario, and which splats came after the last scenario. */
#ifndef VERIFY_DEATH_H
#define VERIFY_DEATH_H

#include "emu/judge/result/result.h"

/* For a VM that died in the scenario of @result: adds findings and log lines since the start of that scenario. */
void death_judge(struct result *result, const char *log);

/* For a VM that ended normally: adds splats logged after the end of the last scenario, @result. */
void death_judge_late(struct result *result, const char *log);

#endif

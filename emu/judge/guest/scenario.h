/* SPDX-License-Identifier: MIT */
/* Runs one scenario from begin to end and reports the findings. */
#ifndef JUDGE_SCENARIO_H
#define JUDGE_SCENARIO_H

#include <stdbool.h>

#include "driver.h"
#include "plan.h"

/** scenario_run - returns 0, 1 if the next scenario needs a fresh VM, or -errno if this scenario was not judged */
int scenario_run(const struct scenario *scenario, const struct driver *driver, char **test);

#endif

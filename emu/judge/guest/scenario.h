/* SPDX-License-Identifier: MIT */
/* One scenario from its begin to its end: what was wrong is reported. */
#ifndef JUDGE_SCENARIO_H
#define JUDGE_SCENARIO_H

#include <stdbool.h>

#include "driver.h"
#include "plan.h"

/** scenario_run - returns 0, 1 when the machine is not fit for another one, or -errno: it could not be judged */
int scenario_run(const struct scenario *scenario, const struct driver *driver, char **test);

#endif

/* SPDX-License-Identifier: MIT */
/* What the ends of the tests, and the emulator's table, say about the driver: reported as findings. */
#ifndef JUDGE_VERDICT_H
#define JUDGE_VERDICT_H

#include <stdbool.h>

#include "driver.h"
#include "plan.h"
#include "test.h"
#include "emu/judge/log/violations.h"

/** verdict_tests - report how they ended; @fired: what was planned happened */
void verdict_tests(const struct scenario *scenario, const struct tests *tests, bool fired);

/** verdict_violations - of the driver, or of what it calls, since @before; 0 or -errno */
int verdict_violations(const struct violations *before, const struct driver *driver);

#endif

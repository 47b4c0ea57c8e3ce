/* SPDX-License-Identifier: MIT */
/* Reports findings from the exit statuses of the tests and from the emulator's table of violations. */
#ifndef JUDGE_VERDICT_H
#define JUDGE_VERDICT_H

#include <stdbool.h>

#include "driver.h"
#include "plan.h"
#include "test.h"
#include "emu/judge/log/violations.h"

/** verdict_tests - report how the tests ended; @fired: the planned event or failure happened */
void verdict_tests(const struct scenario *scenario, const struct tests *tests, bool fired);

/** verdict_violations - report violations since @before by the driver or by peerpin; returns 0 or -errno */
int verdict_violations(const struct violations *before, const struct driver *driver);

/**
 * verdict_compare - report violations that are in @now but not in @before
 * @stop_waits: a peer's stop() waited, which explains a slow callback of peerpin
 */
void verdict_compare(const struct violations *before, const struct violations *now, const struct driver *driver,
		     bool stop_waits);

#endif

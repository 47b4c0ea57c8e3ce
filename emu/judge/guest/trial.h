/* SPDX-License-Identifier: MIT */
/* Whether the test has used the driver at all: without any use there is nothing to judge. */
#ifndef JUDGE_TRIAL_H
#define JUDGE_TRIAL_H

#include <stdbool.h>

#include "driver.h"
#include "emu/judge/share.h"

/** trial_begin - before the driver is loaded; 0 or -errno */
int trial_begin(void);

/**
 * trial_tell - report the pins and calls of a test that no action disturbed; 0 or -errno
 *
 * @asked: count attempts to pin instead of pins. For scenarios with little BAR1, where each
 * pin may fail. Do not set it while a process hangs in the kernel: the call may hang, too.
 */
int trial_tell(const struct driver *driver, const struct share *share, bool asked);

#endif

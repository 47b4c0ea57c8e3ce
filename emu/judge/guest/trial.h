/* SPDX-License-Identifier: MIT */
/* Reports whether the test used the driver at all. If the test did not, the driver was not tested. */
#ifndef JUDGE_TRIAL_H
#define JUDGE_TRIAL_H

#include <stdbool.h>

#include "driver.h"
#include "emu/judge/share.h"

/** trial_begin - begin to count; call before the driver is loaded; returns 0 or -errno */
int trial_begin(void);

/**
 * trial_tell - report the pins and calls of a test that no action disturbed; returns 0 or -errno
 *
 * @asked: count attempts to pin instead of pins, for scenarios with little BAR1, where each
 * pin may fail. Must be false while a process hangs in the kernel: the count could hang, too.
 */
int trial_tell(const struct driver *driver, const struct share *share, bool asked);

/** trial_tell_revoked - report what a revocation since trial_begin() reached; only while no process hangs in the kernel */
void trial_tell_revoked(const struct share *share);

#endif

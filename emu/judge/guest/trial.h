/* SPDX-License-Identifier: MIT */
/* Whether a test has put the driver to any use: of one that it has not, nothing can be said. */
#ifndef JUDGE_TRIAL_H
#define JUDGE_TRIAL_H

#include <stdbool.h>

#include "driver.h"
#include "emu/judge/share.h"

/** trial_begin - before the driver is loaded; 0 or -errno */
int trial_begin(void);

/**
 * trial_tell - what the test has done that nothing was to be done to; 0 or -errno
 *
 * @asked: where there is no room all pins may be refused, and to have asked for them is
 * what was to be tried. Whoever hangs in the emulator may keep it from telling.
 */
int trial_tell(const struct driver *driver, const struct share *share, bool asked);

#endif

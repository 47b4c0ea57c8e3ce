/* SPDX-License-Identifier: MIT */
/* What a machine died of in the middle of a scenario, or complained of after the last, as far as its kernel's log tells. */
#ifndef VERIFY_DEATH_H
#define VERIFY_DEATH_H

#include "emu/judge/result/result.h"

/* Adds to @result the finding, and the lines, of what the file says since the last scenario, which is @result's, began. */
void death_judge(struct result *result, const char *log);

/* Of one that ended well: what its kernel complained of after the last scenario, @result, had ended. */
void death_judge_late(struct result *result, const char *log);

#endif

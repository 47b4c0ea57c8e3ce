/* SPDX-License-Identifier: MIT */
/* doctor's report as text. */
#ifndef DOCTOR_TEXT_H
#define DOCTOR_TEXT_H

#include <stdio.h>
#include "tool/doctor/checks/checks.h"
#include "pair.h"

void doctor_text(FILE *file, const struct view *v, const struct report *r, const struct pairs *pairs);

#endif

/* SPDX-License-Identifier: MIT */
/* The report as text. */
#ifndef VERIFY_TEXT_H
#define VERIFY_TEXT_H

#include "summary.h"

void text_report(FILE *file, const struct summary *summary);

#endif

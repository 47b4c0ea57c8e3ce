/* SPDX-License-Identifier: MIT */
/* The report as JSON. */
#ifndef VERIFY_JSON_H
#define VERIFY_JSON_H

#include "summary.h"

void json_report(FILE *file, const struct summary *summary);

#endif

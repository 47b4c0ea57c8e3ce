/* SPDX-License-Identifier: MIT */
/* The report as a self-contained HTML page. */
#ifndef VERIFY_HTML_H
#define VERIFY_HTML_H

#include "summary.h"

void html_report(FILE *file, const struct summary *summary);

#endif

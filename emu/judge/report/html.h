/* SPDX-License-Identifier: MIT */
/* The report as one page that needs no other file. */
#ifndef VERIFY_HTML_H
#define VERIFY_HTML_H

#include "summary.h"

void html_report(FILE *file, const struct summary *summary);

#endif

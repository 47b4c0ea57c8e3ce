/* SPDX-License-Identifier: MIT */
/* A sample as text for Prometheus. */
#ifndef METRICS_TEXT_H
#define METRICS_TEXT_H

#include <stdio.h>
#include "sample.h"

/**
 * enum metrics_format - the two text formats of Prometheus
 * METRICS_OPENMETRICS: OpenMetrics 1.0: the name in TYPE and HELP has no _total; "# EOF" ends the text
 * METRICS_PROMETHEUS: version 0.0.4, for promtool and node_exporter's text files: TYPE and HELP have _total
 */
enum metrics_format {
	METRICS_OPENMETRICS,
	METRICS_PROMETHEUS,
};

/* The value of the HTTP header Content-Type */
const char *metrics_content_type(enum metrics_format format);

void metrics_print(FILE *f, enum metrics_format format, const struct metrics_sample *s);

#endif

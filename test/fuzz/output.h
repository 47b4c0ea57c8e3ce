/* SPDX-License-Identifier: MIT */
/* What is printed meanwhile, in memory. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdio.h>

/**
 * struct output - of one stream
 * @text: behind output_end(): what was printed, to be freed
 */
struct output {
	FILE **stream;
	FILE *before;
	char *text;
	size_t size;
};

/* @stream: &stdout or &stderr */
void output_begin(struct output *o, FILE **stream);
void output_end(struct output *o);

#endif

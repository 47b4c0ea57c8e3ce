/* SPDX-License-Identifier: MIT */
/* Captures printed output in memory. */
#ifndef OUTPUT_H
#define OUTPUT_H

#include <stdio.h>

/**
 * struct output - captured output of one stream
 * @text: the output after output_end(); the caller frees it
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

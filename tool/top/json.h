/* SPDX-License-Identifier: MIT */
#ifndef TOP_JSON_H
#define TOP_JSON_H

#include "top.h"

/* Prints a sample as one line of JSON. */
void top_json(const struct top_sample *s);

#endif

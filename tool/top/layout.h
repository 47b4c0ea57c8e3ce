/* SPDX-License-Identifier: MIT */
/* Divides the lines of the screen among the parts of peerpin top. */
#ifndef TOP_LAYOUT_H
#define TOP_LAYOUT_H

#include "top.h"

/** struct top_layout - number of lines of each part, besides three lines for title, names of columns, and keys */
struct top_layout {
	int gpus;
	int peers;	/* 0, or the lines of peers and the line of column names */
	int processes;
	int notes;
};

struct top_layout top_layout(const struct top_sample *s, int lines);

/* Index of the first row to show: @scroll, or less so that the last of @count rows is the last of @room lines */
size_t top_scroll(size_t scroll, size_t count, int room);

/* Writes "||||..::", @width characters: '|' in use, '.' free, ':' reserved by the driver */
void top_gauge(const struct pp_bar1 *gpu, uint64_t reserve, char *out, int width);

#endif

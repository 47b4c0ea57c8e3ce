/* SPDX-License-Identifier: MIT */
/* Who gets how many lines of the screen of peerpin top. */
#ifndef TOP_LAYOUT_H
#define TOP_LAYOUT_H

#include "top.h"

/** struct top_layout - lines of each part; the title, names of columns and keys have one each */
struct top_layout {
	int gpus;
	int peers;	/* 0, or with their names of columns */
	int processes;
	int notes;
};

struct top_layout top_layout(const struct top_sample *s, int lines);

/* The first row to show, so that @count rows fill @room of them as far as they can */
size_t top_scroll(size_t scroll, size_t count, int room);

/* "||||....": @width characters; '|' in use, ':' what the driver keeps, '.' else */
void top_gauge(const struct pp_bar1 *gpu, uint64_t reserve, char *out, int width);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef GDR_COPY_H
#define GDR_COPY_H

#include "stream.h"

/* The best that this CPU can */
const struct stream *gdr_stream_best(void);

/* @map is not cached; any alignment. Only bytes of the range are written. */
void gdr_stream_to(const struct stream *s, void *map, const void *from, size_t n);

/* The same, reading: whole blocks that hold the range */
void gdr_stream_from(const struct stream *s, void *to, const void *map, size_t n);

#endif

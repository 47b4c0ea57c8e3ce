/* SPDX-License-Identifier: MIT */
#ifndef GDR_COPY_H
#define GDR_COPY_H

#include "stream.h"

/* The best way to copy that this CPU supports */
const struct stream *gdr_stream_best(void);

/* Copy to an uncached mapping, with any alignment. Writes bytes of the range only. */
void gdr_stream_to(const struct stream *s, void *map, const void *from, size_t n);

/* Copy from an uncached mapping, with any alignment. Reads whole blocks that contain the range. */
void gdr_stream_from(const struct stream *s, void *to, const void *map, size_t n);

#endif

/* SPDX-License-Identifier: MIT */
/* What a worker does, each with areas that it has got and pinned. */
#ifndef SOAK_WORK_H
#define SOAK_WORK_H

#include "worker.h"

/* Ends the run if @length bytes there are not those expected; @place: of their first in what was written */
void work_compare(struct worker *w, const char *what, const unsigned char *found, const unsigned char *expected,
		  uint64_t place, uint64_t length);

/* Bytes go from host memory through both GPU's areas to other host memory. */
void work_journey(struct worker *w);

/* The same, while another thread frees or unpins what it goes through. */
void work_journey_with_rival(struct worker *w);

/* The CPU writes what a peer reads. */
void work_view(struct worker *w);

/* A peer reads through a dma-buf: the GPU driver's, or ours of a region. */
void work_dmabuf(struct worker *w);

#endif

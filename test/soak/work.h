/* SPDX-License-Identifier: MIT */
/* Work of a worker; each function allocates and pins the areas that it needs. */
#ifndef SOAK_WORK_H
#define SOAK_WORK_H

#include "worker.h"

/* End the run if @length bytes at @found and @expected differ. @place: offset of @expected in the pattern */
void work_compare(struct worker *w, const char *what, const unsigned char *found, const unsigned char *expected,
		  uint64_t place, uint64_t length);

/* Copy from host memory through both GPU areas to other host memory. */
void work_journey(struct worker *w);

/* The same journey, while another thread frees or unpins one of the GPU areas. */
void work_journey_with_rival(struct worker *w);

/* The CPU writes through a mapping, and a peer reads the bytes. */
void work_view(struct worker *w);

/* A peer reads through a dma-buf of the GPU driver or of a region. */
void work_dmabuf(struct worker *w);

#endif

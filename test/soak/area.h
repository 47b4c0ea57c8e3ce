/* SPDX-License-Identifier: MIT */
/* Memory and its pins. A function of type int returns 0 or a negative error that the rules allow. */
#ifndef SOAK_AREA_H
#define SOAK_AREA_H

#include "worker.h"

/* Allocate or pin the area, if possible and not yet done. */
int area_get(struct worker *w, enum area_name name);
int area_pin(struct worker *w, struct area *area);

void area_unpin(struct worker *w, struct area *area);
/* Unpin and free, in random order. */
void area_drop(struct worker *w, struct area *area);

/* Drop each area with a revoked region. */
void area_drop_revoked(struct worker *w);

/* Write the expected resident bytes to @scratch. */
void area_expect_resident(struct worker *w, const struct area *area);

/* Check the resident bytes by a copy with the GPU's engine. */
int area_look(struct worker *w, struct area *area);

/*
 * Mask of trouble since the pin. Includes WHEN_REVOKED if the region is revoked and may be revoked:
 * host memory at any time, GPU memory after GPU trouble.
 */
unsigned int pin_when(struct worker *w, const struct pin *pin);

#endif

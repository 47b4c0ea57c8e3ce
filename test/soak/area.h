/* SPDX-License-Identifier: MIT */
/* Memory and its pins. Functions of type int return 0 or a negative error that the rules allow. */
#ifndef SOAK_AREA_H
#define SOAK_AREA_H

#include "worker.h"

/* Allocate or pin the area if possible; no change if that was done before. */
int area_get(struct worker *w, enum area_name name);
int area_pin(struct worker *w, struct area *area);

void area_unpin(struct worker *w, struct area *area);
/* Unpins and frees, in random order */
void area_drop(struct worker *w, struct area *area);

/* Drops all areas whose region is revoked. */
void area_drop_revoked(struct worker *w);

/* Writes the expected resident bytes to @scratch. */
void area_expect_resident(struct worker *w, const struct area *area);

/* Checks the resident bytes by a copy of the GPU's own engine. */
int area_look(struct worker *w, struct area *area);

/* Mask of trouble since the pin; WHEN_REVOKED if the region is revoked and the mask explains it */
unsigned int pin_when(struct worker *w, const struct pin *pin);

#endif

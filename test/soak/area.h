/* SPDX-License-Identifier: MIT */
/* Memory and its pins. What returns an int returns 0 or a negative error that the rules allow. */
#ifndef SOAK_AREA_H
#define SOAK_AREA_H

#include "worker.h"

/* Both there, if they can be: what is there stays. */
int area_get(struct worker *w, enum area_name name);
int area_pin(struct worker *w, struct area *area);

void area_unpin(struct worker *w, struct area *area);
/* Unpinned too, before or after the memory goes */
void area_drop(struct worker *w, struct area *area);

/* All that say that they were revoked */
void area_drop_revoked(struct worker *w);

/* What should be resident in it, in @scratch */
void area_expect_resident(struct worker *w, const struct area *area);

/* By the GPU's own engine: what is resident is there. */
int area_look(struct worker *w, struct area *area);

/* What there has been since it was pinned, and whether it says that it was revoked, with a reason */
unsigned int pin_when(struct worker *w, const struct pin *pin);

#endif

/* SPDX-License-Identifier: MIT */
/* What a thread reaches in the kernel's modules, where the kernel has KCOV. */
#ifndef CALLS_COVER_H
#define CALLS_COVER_H

#include "corpus.h"

struct cover {
	uint64_t *places;	/* their number, and then they; NULL: the kernel does not tell */
};

/* For the calling thread, until it ends */
void cover_open(struct cover *cover);

/* From here on */
void cover_start(struct cover *cover);

/* Whether something was reached since that never was before */
bool cover_is_new(struct cover *cover, struct corpus *corpus);

#endif

/* SPDX-License-Identifier: MIT */
/* What a thread reaches in the kernel's modules, where the kernel has KCOV. */
#ifndef CALLS_COVER_H
#define CALLS_COVER_H

#include "corpus.h"

struct cover {
	int fd;			/* until cover_begin() */
	uint64_t *places;	/* their number, and then they; NULL: the kernel does not tell */
};

/* For any one thread; takes root */
void cover_open(struct cover *cover);

/* It is the calling thread, until that ends. */
void cover_begin(struct cover *cover);

/* From here on */
void cover_start(struct cover *cover);

/* Whether something was reached since that never was before */
bool cover_is_new(struct cover *cover, struct corpus *corpus);

#endif

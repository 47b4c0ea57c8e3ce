/* SPDX-License-Identifier: MIT */
/* Coverage of a thread in the kernel modules, if the kernel has KCOV. */
#ifndef CALLS_COVER_H
#define CALLS_COVER_H

#include "corpus.h"

struct cover {
	int fd;			/* until cover_begin() */
	uint64_t *places;	/* number of places, followed by the places; NULL: no KCOV */
};

/* For one thread, not necessarily the caller; needs root */
void cover_open(struct cover *cover);

/* Bind to the calling thread until it ends. */
void cover_begin(struct cover *cover);

/* Forget the places reached so far. */
void cover_start(struct cover *cover);

/* True if this thread reached new code since cover_start() */
bool cover_is_new(struct cover *cover, struct corpus *corpus);

#endif

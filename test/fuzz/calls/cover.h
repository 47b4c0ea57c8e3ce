/* SPDX-License-Identifier: MIT */
/* Coverage of the kernel modules by one thread, if the kernel has KCOV. */
#ifndef CALLS_COVER_H
#define CALLS_COVER_H

#include "corpus.h"

struct cover {
	int fd;			/* file descriptor until cover_begin() */
	uint64_t *places;	/* [0]: number of places; then the places. NULL: no KCOV */
};

/* Open KCOV for one thread, perhaps not the caller. Needs root. */
void cover_open(struct cover *cover);

/* Bind KCOV to the calling thread until the thread ends. */
void cover_begin(struct cover *cover);

/* Forget the places reached so far. */
void cover_start(struct cover *cover);

/* True if this thread reached new code since cover_start() */
bool cover_is_new(struct cover *cover, struct corpus *corpus);

#endif

/* SPDX-License-Identifier: MIT */
/* Errors that a worker may see, by operation and by trouble. Any other error ends the run. */
#ifndef SOAK_RULE_H
#define SOAK_RULE_H

#include <stdbool.h>

enum op {
	OP_ALLOC,
	OP_FREE,
	OP_GPU_COPY,	/* a copy by the GPU's engine */
	OP_CONTEXT,
	OP_EXPORT_GPU,
	OP_OPEN_PEER,
	OP_PIN_GPU,
	OP_PIN_HOST,
	OP_PIN_DMABUF,
	OP_UNPIN,
	OP_QUERY,
	OP_VIEW,
	OP_EXPORT,
	OP_COPY,	/* a copy by a peer */
	OPS,
};

enum {
	WHEN_GPU = 1 << 0,	/* a bit for each value of enum trouble */
	WHEN_PEER = 1 << 1,
	WHEN_LIMITS = 1 << 2,
	WHEN_RIVAL = 1 << 3,	/* another thread of the worker frees or unpins an area in use */
	WHEN_REVOKED = 1 << 4,	/* a region in use was revoked */
	WHEN_EVER = 1 << 5,
};

const char *op_name(enum op op);

/* True if @op may fail with @error (positive) after the trouble in the mask @when */
bool rule_allows(enum op op, int error, unsigned int when);

#endif

// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stddef.h>
#include "rule.h"

/*
 * GPU memory and BAR1 are small, so they run out at times. EINTR has no rule: only a signal that
 * kills the worker interrupts a call.
 */
static const struct rule {
	enum op op;
	int error;
	unsigned int when;
} rules[] = {
	{ OP_ALLOC, ENODEV, WHEN_GPU },
	{ OP_ALLOC, ENOMEM, WHEN_EVER },
	{ OP_GPU_COPY, ENODEV, WHEN_GPU },
	{ OP_CONTEXT, ENODEV, WHEN_GPU },
	{ OP_EXPORT_GPU, ENODEV, WHEN_GPU },
	{ OP_OPEN_PEER, ENOENT, WHEN_PEER },
	{ OP_OPEN_PEER, ENODEV, WHEN_PEER },
	{ OP_PIN_GPU, EINVAL, WHEN_GPU },
	{ OP_PIN_GPU, ESTALE, WHEN_GPU },
	{ OP_PIN_GPU, ENOMEM, WHEN_EVER },
	{ OP_PIN_GPU, EDQUOT, WHEN_LIMITS },
	{ OP_PIN_HOST, EDQUOT, WHEN_LIMITS },
	{ OP_PIN_HOST, ESTALE, WHEN_EVER },
	{ OP_PIN_DMABUF, EDQUOT, WHEN_LIMITS },
	{ OP_VIEW, ESTALE, WHEN_REVOKED },
	{ OP_EXPORT, ESTALE, WHEN_REVOKED },
	{ OP_COPY, ESTALE, WHEN_REVOKED | WHEN_RIVAL },
	{ OP_COPY, ENODEV, WHEN_PEER },
	{ OP_COPY, ENODEV, WHEN_GPU },		/* the dma-buf is of a removed GPU */
	{ OP_COPY, ENOENT, WHEN_RIVAL },	/* the other thread unpinned the region */
	{ OP_COPY, ENOMEM, WHEN_EVER },	/* mapping a dma-buf needs BAR1 */
};

bool rule_allows(enum op op, int error, unsigned int when)
{
	size_t i;

	for (i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (rules[i].op == op && rules[i].error == error && rules[i].when & (when | WHEN_EVER))
			return true;
	return false;
}

const char *op_name(enum op op)
{
	static const char *const names[OPS] = {
		[OP_ALLOC] = "allocate GPU memory", [OP_FREE] = "free GPU memory", [OP_GPU_COPY] = "copy by the GPU",
		[OP_CONTEXT] = "make a context", [OP_EXPORT_GPU] = "export GPU memory", [OP_OPEN_PEER] = "open a peer",
		[OP_PIN_GPU] = "pin GPU memory", [OP_PIN_HOST] = "pin host memory", [OP_PIN_DMABUF] = "pin a dma-buf",
		[OP_UNPIN] = "unpin", [OP_QUERY] = "query", [OP_VIEW] = "map a region", [OP_EXPORT] = "export a region",
		[OP_COPY] = "copy by a peer",
	};

	return names[op];
}

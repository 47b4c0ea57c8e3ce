/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _DIRECT_ENGINE_H
#define _DIRECT_ENGINE_H

#include <linux/mutex.h>
#include <linux/types.h>
#include "script.h"

struct direct;
struct direct_pin;

/* @lock: one script at a time */
struct direct_engine {
	struct script script;
	struct mutex lock;
};

/* Source or destination of a copy: bytes of a pin in use */
struct direct_end {
	struct direct_pin *pin;
	u64 offset;
};

int direct_engine_setup(struct direct *d);

/* Returns 0; -ESTALE: the memory is being freed, and a part may be copied; -ENODEV; -EIO */
int direct_engine_copy(struct direct *d, struct direct_end dst, struct direct_end src, u64 length);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IMPORTER_ENGINE_H
#define _IMPORTER_ENGINE_H

#include <linux/mutex.h>
#include <linux/types.h>
#include "script.h"

struct buffer;
struct chip;

/* @lock: one script at a time; taken inside reservation locks. @dead: the chip is being removed; under @lock */
struct engine {
	struct script script;
	struct mutex lock;
	bool dead;
};

/* Source or destination of a copy */
struct end {
	struct buffer *buffer;
	u64 offset;
};

int engine_setup(struct chip *chip);
void engine_stop(struct engine *e);

/* Returns the number of bytes copied, which may be fewer; -ESTALE: a buffer is not mapped now; -ENODEV; -EIO */
s64 engine_copy(struct engine *e, struct end dst, struct end src, u64 length);

#endif

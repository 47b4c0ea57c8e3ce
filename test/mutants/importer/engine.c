// SPDX-License-Identifier: GPL-2.0
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include "buffer.h"
#include "chip.h"

int engine_setup(struct chip *chip)
{
	mutex_init(&chip->engine.lock);
	return script_setup(&chip->engine.script, chip->pdev);
}

void engine_stop(struct engine *e)
{
	mutex_lock(&e->lock);
	e->dead = true;
	mutex_unlock(&e->lock);
}

/* Add one move that crosses no segment of the source or the destination. */
static u32 engine_move(struct script *s, struct end *dst, struct end *src, u64 length)
{
	u64 dst_left, src_left, n;
	u32 to = buffer_bus(dst->buffer, dst->offset, &dst_left);
	u32 from = buffer_bus(src->buffer, src->offset, &src_left);

	n = min3(dst_left, src_left, (u64)SCRIPT_MOVE_MAX);
	n = min(n, length);
	script_add(s, to, from, n);
	dst->offset += n;
	src->offset += n;
	return n;
}

static u64 engine_build(struct script *s, struct end dst, struct end src, u64 length)
{
	u64 done = 0;

	script_clear(s);
	while (done < length && script_has_room(s))
		done += engine_move(s, &dst, &src, length - done);
	return done;
}

static s64 engine_copy_locked(struct engine *e, struct end dst, struct end src, u64 length)
{
	u64 n;
	int ret;

	lockdep_assert_held(&e->lock);
	if (e->dead)
		return -ENODEV;
	if (!dst.buffer->valid || !src.buffer->valid)
		return -ESTALE;
	n = engine_build(&e->script, dst, src, length);
	ret = script_run(&e->script);
	return ret ?: n;
}

s64 engine_copy(struct engine *e, struct end dst, struct end src, u64 length)
{
	s64 n;

	mutex_lock(&e->lock);
	n = engine_copy_locked(e, dst, src, length);
	mutex_unlock(&e->lock);
	return n;
}

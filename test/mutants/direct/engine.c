// SPDX-License-Identifier: GPL-2.0
#include <linux/minmax.h>
#include "chip.h"
#include "pin.h"

int direct_engine_setup(struct direct *d)
{
	mutex_init(&d->engine.lock);
	return script_setup(&d->engine.script, d->pdev);
}

/* Add one move that crosses no page of the source or the destination. */
static u32 engine_move(struct script *s, struct direct_end *dst, struct direct_end *src, u64 length)
{
	u32 dst_left, src_left, n;
	u32 to = direct_pin_bus(dst->pin, dst->offset, &dst_left);
	u32 from = direct_pin_bus(src->pin, src->offset, &src_left);

	n = min_t(u64, length, min3(dst_left, src_left, (u32)SCRIPT_MOVE_MAX));
	script_add(s, to, from, n);
	dst->offset += n;
	src->offset += n;
	return n;
}

static u64 engine_build(struct script *s, struct direct_end *dst, struct direct_end *src, u64 length)
{
	u64 done = 0;

	script_clear(s);
	while (done < length && script_has_room(s))
		done += engine_move(s, dst, src, length - done);
	return done;
}

/* Run one script; returns the bytes moved */
static s64 engine_step(struct direct *d, struct direct_end *dst, struct direct_end *src, u64 length)
{
	u64 n;
	int ret;

	if (d->dead)
		return -ENODEV;
	if (direct_pin_stale(dst->pin) || direct_pin_stale(src->pin))
		return -ESTALE;
	n = engine_build(&d->engine.script, dst, src, length);
	ret = script_run(&d->engine.script);
	return ret ?: n;
}

int direct_engine_copy(struct direct *d, struct direct_end dst, struct direct_end src, u64 length)
{
	s64 n;

	while (length) {
		mutex_lock(&d->engine.lock);
		n = engine_step(d, &dst, &src, length);
		mutex_unlock(&d->engine.lock);
		if (n < 0)
			return n;
		length -= n;
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/pagemap.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "emugpu.h"
#include "block.h"
#include "copy.h"
#include "gpu.h"
#include "move.h"
#include "window.h"

/* A place in GPU memory. The reference to the block prevents a reuse of the pages. */
struct place {
	struct emugpu_block *block;
	u64 offset;
};

static int place_get(struct place *place, u64 va, u64 length)
{
	place->block = emugpu_block_get(va);
	if (!place->block)
		return -ENOENT;
	if (!emugpu_block_holds(place->block, va, length)) {
		emugpu_block_put(place->block);
		return -EINVAL;
	}
	place->offset = va - place->block->va;
	return 0;
}

static void place_put(struct place *place)
{
	emugpu_block_put(place->block);
}

static u64 to_page_end(const struct place *place)
{
	return EMUGPU_PAGE_SIZE - place->offset % EMUGPU_PAGE_SIZE;
}

/* Kernel address of the place; window lock held */
static void *place_address(const struct place *place)
{
	u32 page = place->block->pages[place->offset / EMUGPU_PAGE_SIZE];
	void *p = emugpu_window_page(place->block->gpu, page);

	return IS_ERR(p) ? p : p + place->offset % EMUGPU_PAGE_SIZE;
}

/*
 * A fault on user memory may never end (a FUSE file, for example), and unbinding a GPU needs the
 * window lock. So a step must not fault under the window lock. Instead the step returns -EAGAIN,
 * and bring_in() faults the page in without the lock.
 */
static int step_htod(struct place *dst, u64 user, u64 n)
{
	void *to = place_address(dst);

	if (IS_ERR(to))
		return PTR_ERR(to);
	return copy_from_user_nofault(to, u64_to_user_ptr(user), n) ? -EAGAIN : 0;
}

static int step_dtoh(u64 user, struct place *src, u64 n)
{
	void *from = place_address(src);

	if (IS_ERR(from))
		return PTR_ERR(from);
	return copy_to_user_nofault(u64_to_user_ptr(user), from, n) ? -EAGAIN : 0;
}

static int step_dtod(struct place *dst, struct place *src, u64 n)
{
	void *to = place_address(dst);
	void *from = place_address(src);

	if (IS_ERR(to))
		return PTR_ERR(to);
	if (IS_ERR(from))
		return PTR_ERR(from);
	memmove(to, from, n);
	return 0;
}

static int step_fill(struct place *dst, const struct emugpu_copy *copy, u64 n)
{
	void *to = place_address(dst);

	if (IS_ERR(to))
		return PTR_ERR(to);
	if (copy->elem == 1)
		memset(to, copy->src, n);
	else if (copy->elem == 2)
		memset16(to, copy->src, n / 2);
	else
		memset32(to, copy->src, n / 4);
	return 0;
}

static bool dst_is_gpu(u32 kind)
{
	return kind != EMUGPU_COPY_DTOH;
}

static bool src_is_gpu(u32 kind)
{
	return kind == EMUGPU_COPY_DTOH || kind == EMUGPU_COPY_DTOD;
}

/* Copies @n bytes at offset @done. On each GPU side the bytes lie in one page. */
static int step(const struct emugpu_copy *copy, struct place *dst, struct place *src, u64 done, u64 n)
{
	switch (copy->kind) {
	case EMUGPU_COPY_HTOD:
		return step_htod(dst, copy->src + done, n);
	case EMUGPU_COPY_DTOH:
		return step_dtoh(copy->dst + done, src, n);
	case EMUGPU_COPY_DTOD:
		return step_dtod(dst, src, n);
	default:
		return step_fill(dst, copy, n);
	}
}

static u64 step_length(const struct emugpu_copy *copy, const struct place *dst, const struct place *src, u64 left)
{
	if (dst_is_gpu(copy->kind))
		left = min(left, to_page_end(dst));
	if (src_is_gpu(copy->kind))
		left = min(left, to_page_end(src));
	return left;
}

/* Faults in the user memory of a step. */
static int bring_in(const struct emugpu_copy *copy, u64 done, u64 n)
{
	if (copy->kind == EMUGPU_COPY_HTOD)
		return fault_in_readable(u64_to_user_ptr(copy->src + done), n) ? -EFAULT : 0;
	return fault_in_writeable(u64_to_user_ptr(copy->dst + done), n) ? -EFAULT : 0;
}

/* Takes the window lock while no move runs: during a move the memory holds a pattern. */
static void lock_window(void)
{
	emugpu_window_lock_shared();
	while (emugpu_move_runs()) {
		emugpu_window_unlock_shared();
		emugpu_move_wait();
		emugpu_window_lock_shared();
	}
}

static int step_locked(const struct emugpu_copy *copy, struct place *dst, struct place *src, u64 done, u64 n)
{
	int err;

	lock_window();
	err = step(copy, dst, src, done, n);
	emugpu_window_unlock_shared();
	return err;
}

/* Takes the window lock for each step, so the window may close between two steps. A fatal signal ends the copy. */
static int copy_pages(const struct emugpu_copy *copy, struct place *dst, struct place *src)
{
	u64 done, n;
	int err;

	for (done = 0; done < copy->length; done += n) {
		if (fatal_signal_pending(current))
			return -EINTR;
		n = step_length(copy, dst, src, copy->length - done);
		err = step_locked(copy, dst, src, done, n);
		if (err == -EAGAIN) {
			err = bring_in(copy, done, n);
			n = 0;
		}
		if (err)
			return err;
		dst->offset += n;
		src->offset += n;
		cond_resched();
	}
	return 0;
}

static bool valid_fill(const struct emugpu_copy *copy)
{
	if (copy->elem != 1 && copy->elem != 2 && copy->elem != 4)
		return false;
	return copy->src >> (8 * copy->elem) == 0 && !(copy->dst % copy->elem) && !(copy->length % copy->elem);
}

static bool valid_copy(const struct emugpu_copy *copy)
{
	if (copy->kind > EMUGPU_FILL)
		return false;
	return copy->kind == EMUGPU_FILL ? valid_fill(copy) : !copy->elem;
}

int emugpu_copy(const struct emugpu_copy *copy)
{
	struct place dst = {}, src = {};
	int err = 0;

	if (!valid_copy(copy))
		return -EINVAL;
	if (dst_is_gpu(copy->kind))
		err = place_get(&dst, copy->dst, copy->length);
	if (err)
		return err;
	if (src_is_gpu(copy->kind))
		err = place_get(&src, copy->src, copy->length);
	if (err)
		goto err_dst;
	err = copy_pages(copy, &dst, &src);
	if (src_is_gpu(copy->kind))
		place_put(&src);
err_dst:
	if (dst_is_gpu(copy->kind))
		place_put(&dst);
	return err;
}

// SPDX-License-Identifier: GPL-2.0
#include <linux/dma-fence.h>
#include <linux/dma-resv.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/math.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "../include/emugpu.h"
#include "api.h"
#include "cover.h"
#include "exported.h"
#include "guard.h"
#include "monitor.h"
#include "move.h"
#include "slab.h"
#include "spill.h"
#include "view.h"
#include "window.h"

enum {
	MS_MAX = 1000,
	LOOKS = 5,
};

/*
 * @fence: the first member, because dma_fence_free() frees it. @cover: hides the memory. @looks: number of looks left,
 * @pause jiffies apart; the move ends after the last. @judged: the violation was reported
 */
struct move {
	struct dma_fence fence;
	struct emugpu_cover *cover;
	unsigned long pause;
	unsigned int looks;
	bool judged;
	struct emugpu_consumer consumer;
};

static DEFINE_SPINLOCK(fence_lock);
static DECLARE_WAIT_QUEUE_HEAD(ended);

/* The move that runs, or NULL. Changes only while both the API lock and the window lock (exclusive) are held. */
static struct move *moving;
static u32 move_ms;

static const char *fence_name(struct dma_fence *fence)
{
	return "emugpu";
}

static const struct dma_fence_ops fence_ops = {
	.get_driver_name = fence_name,
	.get_timeline_name = fence_name,
};

int emugpu_move_set(u32 ms)
{
	if (ms > MS_MAX)
		return -EINVAL;
	WRITE_ONCE(move_ms, ms);
	return 0;
}

bool emugpu_move_runs(void)
{
	return READ_ONCE(moving);
}

void emugpu_move_wait(void)
{
	wait_event(ended, !emugpu_move_runs());
}

static void judge(struct move *move)
{
	if (move->judged || !emugpu_spill_is_used(move->cover))
		return;
	move->judged = true;
	emugpu_violation_at(EMUGPU_RULE_DMA_BEFORE_FENCE, move->consumer.module, move->consumer.function);
}

static void lock(void)
{
	emugpu_api_lock();
	emugpu_window_lock();
}

static void unlock(void)
{
	emugpu_window_unlock();
	emugpu_api_unlock();
}

static void move_end(struct move *move)
{
	lock();
	emugpu_cover_delete(move->cover);
	WRITE_ONCE(moving, NULL);
	unlock();
	wake_up_all(&ended);
	dma_fence_signal(&move->fence);
	dma_fence_put(&move->fence);
}

static void look(struct work_struct *work);
static DECLARE_DELAYED_WORK(look_work, look);

/* A process may copy the data on, or exit, before the move ends. So look several times. */
static void look(struct work_struct *work)
{
	struct move *move = moving;

	lock();
	judge(move);
	unlock();
	if (--move->looks)
		queue_delayed_work(system_long_wq, &look_work, move->pause);
	else
		move_end(move);
}

static struct move *move_new(const struct emugpu_consumer *consumer, u32 ms)
{
	struct move *move = kzalloc(sizeof(*move), EMUGPU_GFP);

	if (!move)
		return NULL;
	move->cover = emugpu_cover_new();
	if (!move->cover) {
		kfree(move);
		return NULL;
	}
	move->consumer = *consumer;
	move->looks = LOOKS;
	move->pause = DIV_ROUND_UP(msecs_to_jiffies(ms), LOOKS);
	dma_fence_init(&move->fence, &fence_ops, &fence_lock, dma_fence_context_alloc(1), 1);
	return move;
}

/*
 * Covers the pages that no other pin, dma-buf or CPU mapping uses, and starts the move. Returns false, and starts none,
 * if no page was covered, a CPU mapping shows the memory, another importer may already use it, the dma-buf was revoked,
 * or another move runs.
 */
static bool cover_locked(struct move *move, const struct emugpu_exported *exported)
{
	u32 i, first = exported->offset / EMUGPU_PAGE_SIZE, n = emugpu_exported_npages(exported);
	int err = 0;

	if (moving || exported->ended || exported->nmaps > 1 || emugpu_views_show(exported->memory))
		return false;
	for (i = first; i < first + n && !err; i++)
		if (!emugpu_cover_is_lent(exported->memory, i, exported->uses_bar1))
			err = emugpu_cover_page(move->cover, exported->memory, i);
	if (!emugpu_cover_size(move->cover))
		return false;
	WRITE_ONCE(moving, move);
	return true;
}

static bool hide(struct move *move, const struct emugpu_exported *exported)
{
	bool hidden;

	lock();
	hidden = cover_locked(move, exported);
	unlock();
	return hidden;
}

void emugpu_move_begin(struct emugpu_exported *exported, const struct emugpu_consumer *consumer)
{
	u32 ms = READ_ONCE(move_ms);
	struct move *move;

	if (!ms || dma_resv_reserve_fences(&exported->resv, 1))
		return;
	move = move_new(consumer, ms);
	if (!move)
		return;
	if (hide(move, exported)) {
		dma_resv_add_fence(&exported->resv, &move->fence, DMA_RESV_USAGE_KERNEL);
		queue_delayed_work(system_long_wq, &look_work, move->pause);
	} else {
		emugpu_cover_delete(move->cover);
		dma_fence_signal(&move->fence);
		dma_fence_put(&move->fence);
	}
}

void emugpu_move_exit(void)
{
	emugpu_move_wait();
	cancel_delayed_work_sync(&look_work);	/* it may still run after the end of the move */
}

// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/errno.h>

#include "../include/emugpu.h"
#include "api.h"
#include "cover.h"
#include "gpu.h"
#include "memory.h"
#include "pin.h"
#include "stash.h"
#include "window.h"

/* NULL: nothing is hidden. Both under the API lock, the GPU a reference */
static struct emugpu_cover *stash;
static struct emugpu_gpu *stash_gpu;

static int hide_pin(const struct emugpu_pin *pin, void *cover)
{
	u32 first = pin->offset / EMUGPU_PAGE_SIZE, n = pin->request.length / EMUGPU_PAGE_SIZE, i;
	int err = 0;

	for (i = first; i < first + n && !err; i++)
		err = emugpu_cover_page(cover, pin->memory, i);
	return err;
}

/* More than a cover holds stays as it is. */
static int hide(const struct emugpu_gpu *gpu, struct emugpu_cover *cover)
{
	int err = emugpu_pin_each(gpu, hide_pin, cover);

	return err == -ENOSPC ? 0 : err;
}

static void drop(void)
{
	emugpu_cover_delete(stash);
	emugpu_gpu_put(stash_gpu);
	stash = NULL;
}

static int begin_locked(struct emugpu_gpu *gpu)
{
	struct emugpu_cover *cover;
	int err;

	if (stash && !READ_ONCE(stash_gpu->gone))
		return -EBUSY;
	if (stash)
		drop();
	cover = emugpu_cover_new();
	if (!cover)
		return -ENOMEM;
	err = hide(gpu, cover);
	if (err) {
		emugpu_cover_delete(cover);
		return err;
	}
	emugpu_gpu_get_ref(gpu);
	stash_gpu = gpu;
	stash = cover;
	return 0;
}

static u32 count_changed(void)
{
	u32 i, n = 0;

	for (i = 0; i < emugpu_cover_size(stash); i++)
		n += emugpu_cover_is_changed(stash, i);
	return n;
}

static int end_locked(const struct emugpu_gpu *gpu, u32 *changed)
{
	const void *p = emugpu_window_page(gpu, 0);

	if (!stash || stash_gpu != gpu)
		return -ENOENT;
	if (IS_ERR(p))
		return PTR_ERR(p);
	*changed = count_changed();
	drop();
	return 0;
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

int emugpu_stash_begin(struct emugpu_gpu *gpu)
{
	int err;

	lock();
	err = begin_locked(gpu);
	unlock();
	return err;
}

int emugpu_stash_end(const struct emugpu_gpu *gpu, u32 *changed)
{
	int err;

	lock();
	err = end_locked(gpu, changed);
	unlock();
	return err;
}

void emugpu_stash_exit(void)
{
	lock();
	if (stash)
		drop();
	unlock();
}

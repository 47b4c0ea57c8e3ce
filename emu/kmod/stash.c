// SPDX-License-Identifier: GPL-2.0
#include <linux/compiler.h>
#include <linux/errno.h>

#include "../include/emugpu.h"
#include "api.h"
#include "cover.h"
#include "gpu.h"
#include "memory.h"
#include "pin.h"
#include "stash.h"
#include "window.h"

/* NULL: nothing is hidden; API lock */
static struct emugpu_cover *stash;

static int hide_pin(const struct emugpu_pin *pin, void *cover)
{
	u32 first = pin->offset / EMUGPU_PAGE_SIZE, n = pin->request.length / EMUGPU_PAGE_SIZE, i;
	int err = 0;

	if (READ_ONCE(pin->memory->gpu->gone))
		return 0;
	for (i = first; i < first + n && !err; i++)
		err = emugpu_cover_page(cover, pin->memory, i);
	return err;
}

/* More than a cover holds stays as it is. */
static int hide(struct emugpu_cover *cover)
{
	int err = emugpu_pin_each(hide_pin, cover);

	return err == -ENOSPC ? 0 : err;
}

static int begin_locked(void)
{
	struct emugpu_cover *cover;
	int err;

	if (stash)
		return -EBUSY;
	cover = emugpu_cover_new();
	if (!cover)
		return -ENOMEM;
	err = hide(cover);
	if (err)
		emugpu_cover_delete(cover);
	else
		stash = cover;
	return err;
}

static void drop(void)
{
	emugpu_cover_delete(stash);
	stash = NULL;
}

static u32 count_changed(void)
{
	u32 i, n = 0;

	for (i = 0; i < emugpu_cover_size(stash); i++)
		n += emugpu_cover_is_changed(stash, i);
	return n;
}

static int end_locked(u32 *changed)
{
	int err = stash ? emugpu_cover_check(stash) : -ENOENT;

	if (err)
		return err;
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

int emugpu_stash_begin(void)
{
	int err;

	lock();
	err = begin_locked();
	unlock();
	return err;
}

int emugpu_stash_end(u32 *changed)
{
	int err;

	lock();
	err = end_locked(changed);
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

// SPDX-License-Identifier: GPL-2.0
#include <linux/errno.h>
#include <linux/pid.h>

#include "../include/emugpu.h"
#include "api.h"
#include "cover.h"
#include "memory.h"
#include "pin.h"
#include "stash.h"
#include "view.h"
#include "window.h"

/* The present stash, or NULL; API lock */
static struct emugpu_cover *stash;

struct hiding {
	struct emugpu_cover *cover;
	const struct pid *process;	/* owner of the pins; NULL: all processes */
};

static bool is_wanted(const struct hiding *hiding, const struct emugpu_pin *pin)
{
	return !hiding->process || pin->process == hiding->process;
}

static u32 first_page(const struct emugpu_pin *pin)
{
	return pin->offset / EMUGPU_PAGE_SIZE;
}

static u32 nr_pages(const struct emugpu_pin *pin)
{
	return pin->request.length / EMUGPU_PAGE_SIZE;
}

struct holders {
	const struct hiding *hiding;
	const struct emugpu_memory *memory;
	u32 page;
	u32 n;
};

static int count_holder(const struct emugpu_pin *pin, void *data)
{
	struct holders *holders = data;

	if (pin->memory == holders->memory && is_wanted(holders->hiding, pin) &&
	    holders->page - first_page(pin) < nr_pages(pin))
		holders->n++;
	return 0;
}

static bool is_lent(const struct hiding *hiding, const struct emugpu_memory *memory, u32 page)
{
	struct holders holders = { .hiding = hiding, .memory = memory, .page = page };

	emugpu_pin_each(count_holder, &holders);
	return emugpu_cover_is_lent(memory, page, holders.n);
}

/* Skips memory with a CPU mapping, even without an inserted page: a process may write to it at any time. */
static int hide_pin(const struct emugpu_pin *pin, void *data)
{
	const struct hiding *hiding = data;
	u32 i;
	int err = 0;

	if (!is_wanted(hiding, pin) || emugpu_views_show(pin->memory))
		return 0;
	for (i = first_page(pin); i < first_page(pin) + nr_pages(pin) && !err; i++)
		if (!is_lent(hiding, pin->memory, i))
			err = emugpu_cover_page(hiding->cover, pin->memory, i);
	return err;
}

/* A full cover is no error: the remaining pages are not covered. */
static int hide(struct hiding *hiding)
{
	int err = emugpu_pin_each(hide_pin, hiding);

	return err == -ENOSPC ? 0 : err;
}

static int begin_locked(const struct pid *process)
{
	struct hiding hiding = { .process = process };
	int err;

	if (stash)
		return -EBUSY;
	hiding.cover = emugpu_cover_new();
	if (!hiding.cover)
		return -ENOMEM;
	err = hide(&hiding);
	if (err)
		emugpu_cover_delete(hiding.cover);
	else
		stash = hiding.cover;
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

int emugpu_stash_begin(u32 pid)
{
	struct pid *process = pid ? find_get_pid(pid) : NULL;
	int err;

	if (pid && !process)
		return -ESRCH;
	lock();
	err = begin_locked(process);
	unlock();
	put_pid(process);
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

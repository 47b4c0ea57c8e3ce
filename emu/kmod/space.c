// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "api.h"
#include "slab.h"
#include "space.h"

enum {
	SPACES_MAX = 1024,
	TRIES = 20,
	PAUSE_US = 1000,
};

/* The address spaces of all processes, each with a reference */
struct spaces {
	u32 n;
	struct mm_struct *at[SPACES_MAX];
};

static bool has(const struct spaces *spaces, const struct mm_struct *mm)
{
	u32 i;

	for (i = 0; i < spaces->n; i++)
		if (spaces->at[i] == mm)
			return true;
	return false;
}

static void add(struct spaces *spaces, struct mm_struct *mm)
{
	if (!mm)
		return;
	if (spaces->n < SPACES_MAX && !has(spaces, mm))
		spaces->at[spaces->n++] = mm;
	else
		mmput_async(mm);
}

static struct spaces *spaces_new(void)
{
	struct spaces *spaces = emugpu_array(1, sizeof(*spaces));
	struct task_struct *process, *thread;

	if (!spaces)
		return NULL;
	rcu_read_lock();
	for_each_process_thread(process, thread)
		add(spaces, get_task_mm(thread));
	rcu_read_unlock();
	return spaces;
}

/* mmput() could unmap the files of drivers, and their close functions take the API lock. */
static void spaces_delete(struct spaces *spaces)
{
	while (spaces->n)
		mmput_async(spaces->at[--spaces->n]);
	kvfree(spaces);
}

/* Waiting for the mmap lock could be a deadlock: its holder may wait for the API lock. */
static bool lock(struct mm_struct *mm)
{
	int i;

	for (i = 0; i < TRIES; i++) {
		if (mmap_read_trylock(mm))
			return true;
		usleep_range(PAUSE_US, 2 * PAUSE_US);
	}
	return false;
}

void emugpu_spaces_skipped(void)
{
	pr_info_ratelimited("a process was not searched for uses of revoked pages: its mmap lock is held\n");
}

int emugpu_spaces_visit(void (*visit)(struct mm_struct *mm, void *data), void *data)
{
	struct spaces *spaces;
	int err = 0;
	u32 i;

	emugpu_api_assert_held();
	spaces = spaces_new();
	if (!spaces)
		return -ENOMEM;
	for (i = 0; i < spaces->n; i++) {
		if (!lock(spaces->at[i])) {
			err = -EAGAIN;
			continue;
		}
		visit(spaces->at[i], data);
		mmap_read_unlock(spaces->at[i]);
	}
	spaces_delete(spaces);
	return err;
}

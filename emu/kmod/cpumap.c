// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitops.h>
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "../include/emugpu.h"
#include "api.h"
#include "compat.h"
#include "cpumap.h"
#include "gpu.h"
#include "view.h"

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
	struct spaces *spaces = kvzalloc(sizeof(*spaces), GFP_KERNEL);
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

static void search_vma(struct vm_area_struct *vma, const struct emugpu_gpu *gpu, const unsigned long *pages,
		       unsigned long *found)
{
	unsigned long at, pfn;
	phys_addr_t phys;

	for (at = vma->vm_start; at < vma->vm_end; at += PAGE_SIZE) {
		if (emugpu_follow_pfn(vma, at, &pfn))
			continue;
		phys = PFN_PHYS(pfn);
		if (phys < gpu->bar || phys - gpu->bar >= gpu->size)
			continue;
		if (test_bit((phys - gpu->bar) / EMUGPU_PAGE_SIZE, pages))
			__set_bit((phys - gpu->bar) / EMUGPU_PAGE_SIZE, found);
	}
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

static void search_space(struct mm_struct *mm, const struct emugpu_gpu *gpu, const unsigned long *pages,
			 unsigned long *found)
{
	VMA_ITERATOR(vmi, mm, 0);
	struct vm_area_struct *vma;

	if (!lock(mm)) {
		pr_info_ratelimited("a process was not searched for CPU mappings of revoked pages: its mmap lock is held\n");
		return;
	}
	for_each_vma(vmi, vma)
		if (vma->vm_flags & (VM_IO | VM_PFNMAP) && !emugpu_views_own(vma))
			search_vma(vma, gpu, pages, found);
	mmap_read_unlock(mm);
}

int emugpu_cpumap_search(const struct emugpu_gpu *gpu, const unsigned long *pages, unsigned long *found)
{
	struct spaces *spaces;
	u32 i;

	emugpu_api_assert_held();
	spaces = spaces_new();
	if (!spaces)
		return -ENOMEM;
	for (i = 0; i < spaces->n; i++)
		search_space(spaces->at[i], gpu, pages, found);
	spaces_delete(spaces);
	return 0;
}

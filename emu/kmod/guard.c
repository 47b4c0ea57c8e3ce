// SPDX-License-Identifier: GPL-2.0
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitmap.h>
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/list.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/time64.h>

#include "../include/emugpu.h"
#include "api.h"
#include "busmap.h"
#include "cover.h"
#include "cpumap.h"
#include "gpu.h"
#include "guard.h"
#include "memory.h"
#include "monitor.h"
#include "pin.h"
#include "slab.h"
#include "space.h"
#include "spill.h"
#include "trap.h"
#include "view.h"
#include "window.h"

enum {
	MS_MAX = 10000,
	SLICES = 5,
};

/* The memory of a revoked pin or dma-buf. @table: the page table of the pin, dead soon; NULL for a dma-buf */
struct guarded {
	struct list_head node;
	const struct nvidia_p2p_page_table *table;
	struct emugpu_memory *memory;	/* with a reference */
	u32 first_page;			/* index in @memory */
	u32 npages;
	u32 users;			/* users of the memory in bar1.refs that are no excuse */
	bool shown;			/* a process may read or write the memory through a dma-buf */
	bool used;
	bool mapped;			/* a CPU mapping is reported */
	struct emugpu_consumer consumer;
};

/* API lock for all. @all_guarded: pins of one block, because a look follows the revocation of each block */
static unsigned int guard_ms;
static bool guard_mapped;
static bool guard_began;
static LIST_HEAD(all_guarded);

int emugpu_guard_set(u32 ms, bool mapped)
{
	emugpu_api_assert_held();
	if (ms > MS_MAX)
		return -EINVAL;
	WRITE_ONCE(guard_ms, ms);
	WRITE_ONCE(guard_mapped, mapped);
	guard_began = false;
	return 0;
}

static void no_memory(void)
{
	pr_warn_ratelimited("not enough memory to watch all revoked pages; give the VM more (--mem)\n");
}

bool emugpu_guard_is_on(void)
{
	return READ_ONCE(guard_ms) || READ_ONCE(guard_mapped);
}

void emugpu_guard_begin(void)
{
	emugpu_api_assert_held();
	if (!emugpu_guard_is_on() || guard_began)
		return;
	guard_began = true;
	pr_info(EMUGPU_REVOKED "\n");
}

static void add(const struct nvidia_p2p_page_table *table, struct emugpu_memory *memory, u32 first_page, u32 npages,
		u32 users, const struct emugpu_consumer *consumer)
{
	struct guarded *guarded;

	emugpu_api_assert_held();
	if (!emugpu_guard_is_on())
		return;
	guarded = kzalloc(sizeof(*guarded), EMUGPU_GFP);
	if (!guarded) {
		no_memory();
		return;
	}
	emugpu_memory_get(memory);
	guarded->table = table;
	guarded->memory = memory;
	guarded->first_page = first_page;
	guarded->npages = npages;
	guarded->users = users;
	guarded->consumer = *consumer;
	list_add_tail(&guarded->node, &all_guarded);
}

void emugpu_guard_add_memory(struct emugpu_memory *memory, u32 first_page, u32 npages, u32 users,
			     const struct emugpu_consumer *consumer)
{
	add(NULL, memory, first_page, npages, users, consumer);
}

void emugpu_guard_add(const struct emugpu_pin *pin)
{
	struct emugpu_consumer consumer = { .function = pin->request.callback };

	strscpy(consumer.module, pin->consumer, sizeof(consumer.module));
	add(pin->table, pin->memory, pin->offset / EMUGPU_PAGE_SIZE, pin->request.length / EMUGPU_PAGE_SIZE, 0, &consumer);
}

bool emugpu_guard_has(const struct nvidia_p2p_page_table *table)
{
	const struct guarded *guarded;

	emugpu_api_assert_held();
	list_for_each_entry(guarded, &all_guarded, node)
		if (guarded->table == table)
			return true;
	return false;
}

/* Setting a trap takes long, and the watch must begin soon. */
static void set_traps(void)
{
	const struct guarded *guarded;

	list_for_each_entry(guarded, &all_guarded, node)
		if (guarded->table)
			emugpu_trap_set(guarded->table);
}

/* ---- writes and reads ------------------------------------------------------------------ */

/* Selects each @every-th page of all pins: at most EMUGPU_COVER_MAX pages. @n: number of pages seen so far */
struct sample {
	u32 every;
	u32 n;
};

static bool is_due(struct sample *sample)
{
	return sample->n++ % sample->every == 0;
}

static void cover(struct emugpu_cover *over, const struct guarded *guarded, struct sample *sample)
{
	u32 i;
	int err = 0;

	if (guarded->shown)
		return;
	for (i = guarded->first_page + guarded->npages; i-- > guarded->first_page && !err;)
		if (is_due(sample) && !emugpu_cover_is_lent(guarded->memory, i, guarded->users))
			err = emugpu_cover_mark(over, guarded->memory, i);
	if (err == -ENOMEM)
		no_memory();
}

static struct sample sample_of_all(void)
{
	const struct guarded *guarded;
	struct sample sample = {};
	u32 n = 0;

	list_for_each_entry(guarded, &all_guarded, node)
		n += guarded->npages;
	sample.every = max(DIV_ROUND_UP(n, EMUGPU_COVER_MAX), 1u);
	if (sample.every > 1)
		pr_info_ratelimited("%u pages of 64 KiB revoked; watching one in %u\n", n, sample.every);
	return sample;
}

/* Marks all pins that contain covered page @i: the contents of a page do not show which consumer has used the page. */
static void find_users(const struct emugpu_cover *over, u32 i)
{
	struct guarded *guarded;

	list_for_each_entry(guarded, &all_guarded, node)
		guarded->used |= emugpu_cover_is_of(over, i, guarded->memory, guarded->first_page, guarded->npages);
}

static void judge(const struct emugpu_cover *over)
{
	DECLARE_BITMAP(copied, EMUGPU_COVER_MAX) = { };
	const struct guarded *guarded;
	u32 i;

	emugpu_spill_search(over, copied);
	for (i = 0; i < emugpu_cover_size(over); i++)
		if (test_bit(i, copied) || emugpu_cover_is_changed(over, i))
			find_users(over, i);
	list_for_each_entry(guarded, &all_guarded, node)
		if (guarded->used)
			emugpu_violation_at(EMUGPU_RULE_DMA_AFTER_CALLBACK, guarded->consumer.module,
					    guarded->consumer.function);
}

/* Waits in slices: if the host suspends the whole VM, devices included, only one slice is lost. */
static void wait(void)
{
	unsigned int i, us = guard_ms * USEC_PER_MSEC / SLICES;

	for (i = 0; i < SLICES; i++)
		usleep_range(us, us + us / 4);
}

/* If the GPU is removed, or a test has closed the window, covers no page. Returns NULL if out of memory. */
static struct emugpu_cover *watch_begin(void)
{
	struct emugpu_cover *over = emugpu_cover_new();
	struct sample sample = sample_of_all();
	struct guarded *guarded;

	if (!over) {
		no_memory();
		return NULL;
	}
	list_for_each_entry(guarded, &all_guarded, node)
		guarded->shown = emugpu_views_show(guarded->memory);
	emugpu_window_lock();
	emugpu_views_stop();
	list_for_each_entry(guarded, &all_guarded, node)
		cover(over, guarded, &sample);
	if (emugpu_cover_fill(over))
		no_memory();
	return over;
}

static void watch_end(struct emugpu_cover *over)
{
	if (emugpu_cover_size(over))
		wait();
	judge(over);
	emugpu_cover_delete(over);
	emugpu_views_go_on();
	emugpu_window_unlock();
}

/* ---- mappings ---------------------------------------------------------------- */

/* Another pin or a dma-buf may still lend the page to a process or a device. */
static void mark_pages(unsigned long *pages, const struct guarded *guarded)
{
	u32 i;

	for (i = guarded->first_page; i < guarded->first_page + guarded->npages; i++)
		if (!emugpu_cover_is_lent(guarded->memory, i, guarded->users))
			__set_bit(guarded->memory->pages[i], pages);
}

static bool has_page(const unsigned long *pages, const struct guarded *guarded)
{
	u32 i;

	for (i = guarded->first_page; i < guarded->first_page + guarded->npages; i++)
		if (test_bit(guarded->memory->pages[i], pages))
			return true;
	return false;
}

static void report_processes(const unsigned long *found)
{
	struct guarded *guarded;

	list_for_each_entry(guarded, &all_guarded, node) {
		if (guarded->mapped || !has_page(found, guarded))
			continue;
		guarded->mapped = true;
		emugpu_violation_at(EMUGPU_RULE_MAPPED_AFTER_CALLBACK, guarded->consumer.module,
				    guarded->consumer.function);
	}
}

static int search_processes(const struct emugpu_gpu *gpu, unsigned long *pages, unsigned long *found)
{
	const struct guarded *guarded;
	int err;

	list_for_each_entry(guarded, &all_guarded, node)
		mark_pages(pages, guarded);
	err = emugpu_cpumap_search(gpu, pages, found);
	report_processes(found);
	return err;
}

/* An importer may unmap a dma-buf later. */
static void search_devices(const struct emugpu_gpu *gpu, unsigned long *pages, unsigned long *found)
{
	const struct guarded *guarded;

	bitmap_zero(pages, gpu->vram.npages);
	bitmap_zero(found, gpu->vram.npages);
	list_for_each_entry(guarded, &all_guarded, node)
		if (!guarded->users)
			mark_pages(pages, guarded);
	if (bitmap_empty(pages, gpu->vram.npages))
		return;
	emugpu_busmap_search(gpu, pages, found);
	list_for_each_entry(guarded, &all_guarded, node)
		if (has_page(found, guarded))
			emugpu_violation_at(EMUGPU_RULE_DMA_MAPPED_AFTER_CALLBACK, guarded->consumer.module,
					    guarded->consumer.function);
}

/* @devices: also searches for DMA mappings. Returns -EAGAIN if a process was not searched. */
static int look_for_mappings(bool devices)
{
	const struct emugpu_gpu *gpu = list_first_entry(&all_guarded, struct guarded, node)->memory->gpu;
	unsigned long *pages = bitmap_zalloc(gpu->vram.npages, EMUGPU_GFP);
	unsigned long *found = bitmap_zalloc(gpu->vram.npages, EMUGPU_GFP);
	int err = pages && found ? search_processes(gpu, pages, found) : -ENOMEM;

	if (err == -ENOMEM)
		no_memory();
	else if (devices)
		search_devices(gpu, pages, found);
	bitmap_free(pages);
	bitmap_free(found);
	return err;
}

static void forget(void)
{
	struct guarded *guarded, *next;

	list_for_each_entry_safe(guarded, next, &all_guarded, node) {
		list_del(&guarded->node);
		emugpu_memory_put(guarded->memory);
		kfree(guarded);
	}
}

/*
 * The watch begins first: a late device may end its transfer soon. During the watch, a process that maps or touches a
 * view waits with its mmap lock held, so it can be searched only afterwards.
 */
void emugpu_guard_look(void)
{
	struct emugpu_cover *over;
	int err = 0;

	emugpu_api_assert_held();
	if (list_empty(&all_guarded))
		return;
	over = guard_ms ? watch_begin() : NULL;
	set_traps();
	if (guard_mapped)
		err = look_for_mappings(true);
	if (over)
		watch_end(over);
	if (over && err == -EAGAIN)
		err = look_for_mappings(false);
	if (err == -EAGAIN)
		emugpu_spaces_skipped();
	forget();
}

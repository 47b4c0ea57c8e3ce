// SPDX-License-Identifier: GPL-2.0
#include <linux/build_bug.h>
#include <linux/err.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include "../region/account.h"
#include "../region/counts.h"
#include "../region/epoch.h"
#include "../region/provider.h"
#include "../space/space.h"
#include "file.h"
#include "trace.h"
#include "watch.h"

static struct kmem_cache *watch_cache;

/*
 * peerpin(4) promises at most 128 bytes of kernel memory for each watch of a file with 280 watches or more. Besides this
 * struct a watch takes 16 bytes for its entry of the table (32 after the table has doubled), 4 for its word, and 8 for
 * the pointer to the memory cgroup. The first two chunks of the table have 768 entries, so fewer watches can have more.
 */
static_assert(sizeof(struct pp_watch) + 32 + 4 + 8 <= 128);

int pp_watch_init(void)
{
	watch_cache = kmem_cache_create("peerpin_watch", sizeof(struct pp_watch), 0, SLAB_ACCOUNT, NULL);
	return watch_cache ? 0 : -ENOMEM;
}

void pp_watch_exit(void)
{
	kmem_cache_destroy(watch_cache);
}

/* ---- the end ------------------------------------------------------------------------- */

/* The word becomes even, and the account gets its bytes back. */
static void watch_end(struct pp_watch *w)
{
	pp_epoch_end(w->word);
	pp_account_unwatch(w->account, pp_space_range_bytes(&w->range));
	pp_uncount(watches);
}

static void watch_end_locked(struct pp_space_range *range, bool changed)
{
	struct pp_watch *w = container_of(range, struct pp_watch, range);

	watch_end(w);
	if (changed) {
		pp_count(watches_changed);
		trace_peerpin_watch_changed(w);
	}
}

static const struct pp_space_ops watch_ops = {
	.most = PEERPIN_MAX_WATCHES,
	.end = watch_end_locked,
};

/* ---- the range --------------------------------------------------------------------- */

static bool is_page_memory(const struct vm_area_struct *vma)
{
	return vma->vm_flags & (VM_READ | VM_WRITE) && !(vma->vm_flags & (VM_IO | VM_PFNMAP));
}

/*
 * False if an address of the range has no memory: the word of a watch there would never change. The
 * caller has made a mistake: for example, CUDA reserves the addresses of GPU memory without access.
 */
static bool is_mapped(unsigned long start, unsigned long end)
{
	const struct vm_area_struct *vma;

	mmap_read_lock(current->mm);
	while (start < end) {
		vma = vma_lookup(current->mm, start);
		if (!vma || !is_page_memory(vma))
			break;
		start = vma->vm_end;
	}
	mmap_read_unlock(current->mm);
	return start >= end;
}

static int watch_range(const struct peerpin_watch *c, struct pp_space_range *range, struct pp_why *why)
{
	unsigned long start = c->addr & PAGE_MASK;
	u64 end;

	if (!c->length || check_add_overflow(c->addr, c->length, &end) || end > TASK_SIZE)
		return -EINVAL;
	pp_space_range_init(range, start, PAGE_ALIGN(end) - 1, &watch_ops);
	if (is_mapped(start, PAGE_ALIGN(end)))
		return 0;
	why->reason = PEERPIN_REASON_NOT_MAPPED;
	return -EINVAL;
}

/* ---- the file ------------------------------------------------------------------------ */

/* The first watch of a file sets @f->space, which does not change before the file is closed. So no lock is needed. */
static struct pp_space *watch_space(struct pp_file *f)
{
	struct pp_space *s = READ_ONCE(f->space), *old;

	if (!s) {
		s = pp_space_get();
		if (IS_ERR(s))
			return s;
		old = cmpxchg(&f->space, NULL, s);
		if (!old)
			return s;
		pp_space_put(s);
		s = old;
	}
	return pp_space_is(s, current->mm) ? s : ERR_PTR(-EACCES);
}

/* Tries again until no page changes, or a signal arrives: a watch between two changes would end at once. */
static int watch_add(struct pp_space *s, struct pp_watch *w, u32 *epoch, struct pp_why *why)
{
	int ret;

	*epoch = pp_epoch_begin(w->word);
	pp_count(watches);
	do
		ret = pp_space_add(s, &w->range);
	while (ret == -ESTALE);
	if (ret == -EDQUOT)
		why->reason = PEERPIN_REASON_LIMIT;
	if (ret)
		watch_end(w);
	return ret;
}

/* Takes an id, charges the account and begins the watch of @w->range. */
static int watch_start(struct pp_file *f, struct pp_watch *w, struct peerpin_watch *c, struct pp_why *why)
{
	struct pp_space *s = watch_space(f);
	int ret;

	if (IS_ERR(s))
		return PTR_ERR(s);
	ret = pp_file_take_id(f, &f->watches, &c->out_watch, &w->word, why);
	if (ret)
		return ret;
	w->account = f->account;
	ret = pp_account_watch(w->account, pp_space_range_bytes(&w->range), why) ?:
	      watch_add(s, w, &c->out_epoch, why);
	if (ret)
		pp_file_give_id(&f->watches, c->out_watch, w->word);
	else
		c->out_slot = PEERPIN_MAX_REGIONS + c->out_watch;
	return ret;
}

static struct pp_watch *watch_make(struct pp_file *f, struct peerpin_watch *c, struct pp_why *why)
{
	struct pp_watch *w = kmem_cache_zalloc(watch_cache, GFP_KERNEL);
	int ret;

	if (!w)
		return ERR_PTR(-ENOMEM);
	ret = watch_range(c, &w->range, why) ?: watch_start(f, w, c, why);
	if (!ret)
		return w;
	kmem_cache_free(watch_cache, w);
	return ERR_PTR(ret);
}

struct pp_watch *pp_watch_begin(struct pp_file *f, struct peerpin_watch *c)
{
	struct pp_why why = {};
	u64 start = pp_trace_start(watch);
	struct pp_watch *w = watch_make(f, c, &why);

	if (PTR_ERR_OR_ZERO(w) == -ENOMEM)
		why.reason = PEERPIN_REASON_NO_MEMORY;
	trace_peerpin_watch(c, PTR_ERR_OR_ZERO(w), &why, start);
	c->out_reason = why.reason;
	c->out_needed = why.needed;
	c->out_available = why.available;
	return w;
}

void pp_watch_publish(struct pp_file *f, u32 id, struct pp_watch *w)
{
	pp_table_put(&f->watches, id, w);
}

void pp_watch_drop(struct pp_file *f, u32 id, struct pp_watch *w)
{
	pp_space_end(f->space, &w->range);
	pp_file_give_id(&f->watches, id, w->word);
	kmem_cache_free(watch_cache, w);
}

int pp_watch_end(struct pp_file *f, u32 id)
{
	struct pp_watch *w = pp_table_take_out(&f->watches, id);

	if (!w)
		return -ENOENT;
	pp_watch_drop(f, id, w);
	return 0;
}

void pp_watch_end_all(struct pp_file *f)
{
	u32 id;

	for (id = 0; id < READ_ONCE(f->watches.ever); id++) {
		pp_watch_end(f, id);
		cond_resched();
	}
}

void pp_watch_close(struct pp_file *f)
{
	pp_watch_end_all(f);
	pp_table_destroy(&f->watches);
	if (f->space)
		pp_space_put(f->space);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * CUDA memory of an integrated NVIDIA GPU (Tegra): pages of host memory, pinned by the
 * nvidia_p2p_get_pages() of these GPUs.
 *
 * put_pages always runs the callback in the calling thread, and must not be called after a
 * callback. The callback frees the pages; then this module must kfree() the page table. But
 * another thread may free the memory during put_pages. And NVIDIA's driver keeps its MMU notifier
 * in the page table, and reads the page table once more after the callback. So:
 * - A callback in another thread during put_pages leaves the pages to the thread in put_pages.
 *   So the thread in put_pages never sees a page table without pages.
 * - No put_pages begins after a callback has begun. If memory was unmapped, NVIDIA's driver has
 *   unregistered its notifier, and put_pages would unregister it again.
 * - free() queues kfree() of the page table. At free() no reference to the region is left, so no
 *   thread is in put_pages or a callback. The work item first waits until no MMU notifier runs.
 *   cleanup() would be too early: a callback may still be in pp_revoke().
 * - If the process has exited, the notifier is still registered and holds the mm_struct. The work
 *   item then calls put_pages before kfree(). Each callback checks whether the notifier is
 *   registered, because the OOM reaper may unmap memory while the process exits.
 *
 * Guide N: NVIDIA GPUDirect RDMA guide, section N. Guide 13.4 describes this interface.
 */
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/llist.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/nv-p2p.h>
#include "../compat/compat.h"
#include "../core/region/provider.h"

#define TEGRA_PAGE_SIZE (4u << 10)

/*
 * struct tegra_table - a page table of NVIDIA's driver; argument of tegra_free_callback()
 * @dead: entry in tegra_dead
 * @called: the callback has begun, so no put_pages may begin
 * @given_back: NVIDIA's driver has unregistered its MMU notifier, so tegra_bury() must not call
 *	put_pages
 */
struct tegra_table {
	struct llist_node dead;
	struct nvidia_p2p_page_table *vendors;
	unsigned long cookie;
	bool called;
	bool given_back;
};

/*
 * struct tegra_pin - the private part of a region of an integrated GPU's memory
 * @lock: protects @putter, @put, @called and @freed
 * @putter: thread in put_pages
 * @put: put_pages was called
 * @called: release() or cleanup() has run, so tegra_free() must free the page table
 * @freed: a thread has claimed the call of free_page_table
 * @caching: caching of the mapping in the process that pinned
 */
struct tegra_pin {
	struct tegra_table *table;
	spinlock_t lock;
	struct task_struct *putter;
	bool put;
	bool called;
	bool freed;
	u32 caching;
};

/* ---- kfree() of tables ------------------------------------------------------- */

static LLIST_HEAD(tegra_dead);

static void tegra_bury(struct work_struct *work)
{
	struct llist_node *dead = llist_del_all(&tegra_dead);
	struct tegra_table *t, *next;

	mmu_notifier_synchronize();
	llist_for_each_entry_safe(t, next, dead, dead) {
		if (!t->given_back)
			nvidia_p2p_put_pages(t->vendors);
		kfree(t->vendors);
		kfree(t);
	}
}

static DECLARE_WORK(tegra_burial, tegra_bury);

static void tegra_free(void *priv)
{
	struct tegra_pin *p = priv;

	if (!p->table)
		return;
	if (!p->called) {
		if (!p->put)	/* else put_pages failed, and the callback may still run */
			kfree(p->table);
		return;
	}
	if (p->put)	/* WRITE_ONCE: a second callback may store true at the same time */
		WRITE_ONCE(p->table->given_back, true);
	llist_add(&p->table->dead, &tegra_dead);
	queue_work(system_dfl_wq, &tegra_burial);	/* a realtime thread may occupy this processor for ever */
}

/* ---- how the memory is mapped ------------------------------------------------ */

static bool tegra_is_same(pgprot_t a, pgprot_t b)
{
	return pgprot_val(a) == pgprot_val(b);
}

/*
 * cudaHostAlloc() can allocate write-combined memory, but the page table does not show that. All
 * mappings of a page must have the same attributes. So copy the attributes of the mapping at the
 * address that the process pins. A process that has replaced this mapping damages only
 * its own memory.
 */
static u32 tegra_caching_of(const struct vm_area_struct *vma)
{
	pgprot_t prot;

	if (!vma)
		return PEERPIN_CACHING_NONE;
	prot = vma->vm_page_prot;
	if (tegra_is_same(prot, pgprot_writecombine(prot)))
		return PEERPIN_CACHING_COMBINED;
	if (tegra_is_same(prot, pgprot_noncached(prot)))
		return PEERPIN_CACHING_UNCACHED;
	return PEERPIN_CACHING_CACHED;
}

/*
 * NVIDIA's driver pins any memory that get_user_pages() takes. Memory that no driver maps belongs
 * to the host provider, which accounts it, migrates it for a long-term pin, and revokes on unmap.
 */
static bool tegra_is_ordinary(struct vm_area_struct *vma)
{
	return vma_is_anonymous(vma) ||
	       (vma->vm_file && S_ISREG(file_inode(vma->vm_file)->i_mode));
}

/* False: a part is ordinary (see above). @caching: filled in; NONE if parts of the range differ */
static bool tegra_look_at(u64 addr, u64 length, u32 *caching)
{
	u64 at = addr, end = addr + length;
	struct vm_area_struct *vma;
	bool ordinary = false;

	mmap_read_lock(current->mm);
	*caching = tegra_caching_of(vma_lookup(current->mm, addr));
	while (at < end && !ordinary) {
		vma = find_vma(current->mm, at);
		if (!vma || vma->vm_start > at || tegra_caching_of(vma) != *caching)
			*caching = PEERPIN_CACHING_NONE;
		if (!vma || vma->vm_start >= end)
			break;
		ordinary = tegra_is_ordinary(vma);
		at = vma->vm_end;
	}
	mmap_read_unlock(current->mm);
	return !ordinary;
}

/* ---- pinning ----------------------------------------------------------------- */

static void tegra_free_callback(void *data)
{
	struct tegra_table *t = data;

	if (hlist_unhashed_lockless(&t->vendors->mn.hlist))
		WRITE_ONCE(t->given_back, true);
	WRITE_ONCE(t->called, true);
	pp_revoke(t->cookie);
}

/* The core takes -EINVAL as "not memory of this provider". */
static int tegra_explain(int ret, struct pp_why *why)
{
	why->reason = PEERPIN_REASON_VENDOR_ERROR;
	if (ret == -EFAULT)
		ret = -EINVAL;
	if (ret == -EINVAL)
		why->reason = PEERPIN_REASON_VENDOR_REFUSED;
	if (ret == -ENOMEM)
		why->reason = PEERPIN_REASON_NO_MEMORY;
	return ret;
}

static int tegra_get_pages(struct tegra_pin *p, const struct pp_request *req)
{
	p->table = kzalloc(sizeof(*p->table), GFP_KERNEL_ACCOUNT);
	if (!p->table)
		return -ENOMEM;
	p->table->cookie = req->cookie;
	return nvidia_p2p_get_pages(req->addr, req->length, &p->table->vendors,
				    tegra_free_callback, p->table);
}

static int tegra_pin(void *priv, const struct pp_request *req,
		     struct pp_why *why)
{
	struct tegra_pin *p = priv;
	int ret;

	if (req->p2p_token || req->va_space_token) {
		why->reason = PEERPIN_REASON_NO_API;
		return -EINVAL;
	}
	spin_lock_init(&p->lock);
	ret = tegra_look_at(req->addr, req->length, &p->caching) ? 0 : -EINVAL;
	/* nv-oot allocates a pointer for each page by kcalloc(), which warns above KMALLOC_MAX_SIZE */
	if (!ret && req->length > KMALLOC_MAX_SIZE / sizeof(struct page *) * TEGRA_PAGE_SIZE)
		ret = -ENOMEM;
	if (!ret)
		ret = tegra_get_pages(p, req);
	return ret ? tegra_explain(ret, why) : 0;
}

static int tegra_look(void *priv, u64 length, u32 *caching)
{
	const struct tegra_pin *p = priv;
	const struct nvidia_p2p_page_table *table = p->table->vendors;

	if (!NVIDIA_P2P_PAGE_TABLE_VERSION_COMPATIBLE(table) ||
	    table->page_size != NVIDIA_P2P_PAGE_SIZE_4KB)
		return -EOPNOTSUPP;
	if ((u64)table->entries * TEGRA_PAGE_SIZE != length)
		return -EIO;
	*caching = p->caching;
	return 0;
}

static void tegra_extents(void *priv, struct pp_extents *x)
{
	const struct tegra_pin *p = priv;
	const struct nvidia_p2p_page_table *table = p->table->vendors;
	u32 i;

	for (i = 0; i < table->entries; i++)
		pp_extents_add(x, page_to_phys(table->pages[i]),
			       TEGRA_PAGE_SIZE);
}

/* ---- unpinning --------------------------------------------------------------- */

/* In the callback. True: this thread frees the pages; false: the thread in put_pages does. */
static bool tegra_claim_callback(struct tegra_pin *p)
{
	bool mine;

	spin_lock(&p->lock);
	mine = !p->putter || p->putter == current;
	p->called = true;
	p->freed = mine;
	spin_unlock(&p->lock);
	return mine;
}

static void tegra_release(void *priv)
{
	struct tegra_pin *p = priv;

	if (tegra_claim_callback(p))
		nvidia_p2p_free_page_table(p->table->vendors);
}

static bool tegra_begin_put(struct tegra_pin *p)
{
	spin_lock(&p->lock);
	if (!p->called && !READ_ONCE(p->table->called)) {
		p->put = true;
		p->putter = current;
	}
	spin_unlock(&p->lock);
	return p->put;
}

/* True if a callback in another thread has left the pages to this thread */
static bool tegra_end_put(struct tegra_pin *p)
{
	bool left;

	spin_lock(&p->lock);
	p->putter = NULL;
	left = p->called && !p->freed;
	p->freed |= left;
	spin_unlock(&p->lock);
	return left;
}

static void tegra_unpin(void *priv)
{
	struct tegra_pin *p = priv;
	int ret;

	if (!tegra_begin_put(p))
		return;
	ret = nvidia_p2p_put_pages(p->table->vendors);
	if (tegra_end_put(p))
		nvidia_p2p_free_page_table(p->table->vendors);
	if (p->called)
		return;
	/* the memory is still pinned: keep the module, which has the callback */
	__module_get(THIS_MODULE);
	pr_err("peerpin_tegra: put_pages ended (%d) without calling back; CUDA memory stays pinned until it is freed\n",
	       ret);
}

/* If the callback ran before the core knew the pages, the core did not call release(). */
static void tegra_cleanup(void *priv)
{
	struct tegra_pin *p = priv;

	if (p->called || p->put)
		return;
	p->called = true;
	nvidia_p2p_free_page_table(p->table->vendors);
}

static const struct pp_provider tegra_provider = {
	.owner = THIS_MODULE,
	.name = "tegra",
	.id = PEERPIN_PROVIDER_TEGRA,
	.page_size = TEGRA_PAGE_SIZE,
	.page_backed = true,
	.priv_size = sizeof(struct tegra_pin),
	.pin = tegra_pin,
	.look = tegra_look,
	.extents = tegra_extents,
	.release = tegra_release,
	.unpin = tegra_unpin,
	.cleanup = tegra_cleanup,
	.free = tegra_free,
};

static int __init tegra_init(void)
{
	return pp_provider_register(&tegra_provider);
}

static void __exit tegra_exit(void)
{
	pp_provider_unregister(&tegra_provider);
	flush_work(&tegra_burial);
}

module_init(tegra_init);
module_exit(tegra_exit);
MODULE_DESCRIPTION("peerpin provider: CUDA memory of integrated NVIDIA GPUs");
MODULE_LICENSE("GPL");

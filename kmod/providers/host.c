// SPDX-License-Identifier: GPL-2.0
/*
 * Host memory: pages are pinned long-term and writable. munmap(), mremap(), MADV_DONTNEED and exit
 * revoke the region through an MMU notifier, so that a cached registration ends when its address
 * gets other memory. The notifier only revokes: until the core calls release(), pages stay pinned
 * and DMA in flight is safe.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include "host.h"

enum {
	HOST_CHUNK = 1024,	/* pages between two calls of cond_resched() */
};

/*
 * struct host_pin - the private part of a region of host memory
 * @notifier: in use from pin to cleanup
 * @mm: address space of the process; @mm->pinned_vm counts the pinned pages
 * @lock: protects @pinned; held to check that no page was unmapped during pinning
 * @pinned: the pages are pinned
 */
struct host_pin {
	struct mmu_interval_notifier notifier;
	struct mm_struct *mm;
	spinlock_t lock;
	bool pinned;
	unsigned long cookie;
	unsigned long count;
	struct page **pages;
};

/*
 * The kernel sends CLEAR if memory is discarded (MADV_DONTNEED, truncation), and also if only its
 * page table changes (split of a huge page, for example at fork()). Only a page table walk could
 * distinguish the two cases, and is not possible here. So revoke in both cases: a region that was
 * revoked in vain can be pinned again, but a region that was kept wrongly corrupts data. A change
 * of protection does not move pinned pages.
 */
static bool host_takes_pages(const struct mmu_notifier_range *range)
{
	return range->event == MMU_NOTIFY_UNMAP ||
	       range->event == MMU_NOTIFY_CLEAR ||
	       range->event == MMU_NOTIFY_RELEASE;
}

/* The caller holds mmap_lock, i_mmap_rwsem or a page lock: do not wait, do not allocate. */
static bool host_invalidate(struct mmu_interval_notifier *notifier,
			    const struct mmu_notifier_range *range,
			    unsigned long seq)
{
	struct host_pin *p = container_of(notifier, struct host_pin, notifier);
	bool revoke;

	if (!host_takes_pages(range))
		return true;
	spin_lock(&p->lock);
	mmu_interval_set_seq(notifier, seq);
	revoke = p->pinned;
	spin_unlock(&p->lock);
	if (revoke)
		pp_revoke_soon(p->cookie);
	return true;
}

static const struct mmu_interval_notifier_ops host_notifier_ops = {
	.invalidate = host_invalidate,
};

static bool host_may_pin(const struct host_pin *p, s64 pinned, struct pp_why *why)
{
	u64 limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	if (pinned + p->count <= limit || capable(CAP_IPC_LOCK))
		return true;
	why->reason = PEERPIN_REASON_MEMLOCK;
	why->needed = (u64)p->count << PAGE_SHIFT;
	why->available = limit > pinned ? (limit - pinned) << PAGE_SHIFT : 0;
	return false;
}

/*
 * Account against RLIMIT_MEMLOCK without mmap_lock, like RDMA. Never exceed the limit, not even
 * for a moment: a pin of another thread would fail.
 */
static int host_account(struct host_pin *p, struct pp_why *why)
{
	s64 pinned = atomic64_read(&current->mm->pinned_vm);

	do {
		if (!host_may_pin(p, pinned, why))
			return -ENOMEM;
	} while (!atomic64_try_cmpxchg(&current->mm->pinned_vm, &pinned, pinned + p->count));
	return 0;
}

/* Drops pages in chunks, to reschedule in between. Sleeps: setting a page dirty locks the page. */
static void host_drop_pages(struct host_pin *p, unsigned long count, bool dirty)
{
	unsigned long done, n;

	for (done = 0; done < count; done += n) {
		n = min_t(unsigned long, count - done, HOST_CHUNK);
		unpin_user_pages_dirty_lock(p->pages + done, n, dirty);
		cond_resched();
	}
}

static int host_get_pages(struct host_pin *p, unsigned long addr)
{
	unsigned long done = 0;

	while (done < p->count) {
		int n = min_t(unsigned long, p->count - done, HOST_CHUNK);

		if (fatal_signal_pending(current))
			n = -EINTR;
		else
			n = pin_user_pages_fast(addr + (done << PAGE_SHIFT), n,
						FOLL_WRITE | FOLL_LONGTERM,
						p->pages + done);
		if (n <= 0) {
			host_drop_pages(p, done, false);
			return n ?: -EFAULT;
		}
		done += n;
		cond_resched();
	}
	return 0;
}

/* False if a page of the range was unmapped during pinning */
static bool host_commit(struct host_pin *p, unsigned long seq)
{
	spin_lock(&p->lock);
	p->pinned = !mmu_interval_read_retry(&p->notifier, seq);
	spin_unlock(&p->lock);
	return p->pinned;
}

static int host_pin_pages(struct host_pin *p, unsigned long addr)
{
	unsigned long seq;
	int ret;

	for (;;) {
		seq = mmu_interval_read_begin(&p->notifier);
		ret = host_get_pages(p, addr);
		if (ret || host_commit(p, seq))
			return ret;
		host_drop_pages(p, p->count, false);
	}
}

/* unpin, release and cleanup: the first call unpins the pages */
static void host_unpin(void *priv)
{
	struct host_pin *p = priv;
	bool pinned;

	spin_lock(&p->lock);
	pinned = p->pinned;
	p->pinned = false;
	spin_unlock(&p->lock);
	if (!pinned)
		return;
	host_drop_pages(p, p->count, true);
	atomic64_sub(p->count, &p->mm->pinned_vm);
}

static int host_alloc_pages(struct host_pin *p, struct pp_why *why)
{
	p->pages = kvmalloc_array(p->count, sizeof(*p->pages),
				  GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (p->pages)
		return 0;
	why->reason = PEERPIN_REASON_NO_MEMORY;
	return -ENOMEM;
}

/* The core takes -EINVAL as "not memory of this provider". */
static int host_explain(int ret, struct pp_why *why)
{
	if (ret == -EFAULT) {
		why->reason = PEERPIN_REASON_NOT_MAPPED;
		return -EINVAL;
	}
	if (ret == -ENOMEM)
		why->reason = PEERPIN_REASON_NO_MEMORY;
	return ret;
}

/*
 * Check the first page early, so that the error for an unmapped address is not about
 * RLIMIT_MEMLOCK. Pinning checks the whole range.
 */
static bool host_may_own(u64 addr)
{
	struct vm_area_struct *vma;
	bool may;

	mmap_read_lock(current->mm);
	vma = vma_lookup(current->mm, addr);
	may = vma && vma->vm_flags & VM_WRITE;
	mmap_read_unlock(current->mm);
	return may;
}

static int host_pin(void *priv, const struct pp_request *req,
		    struct pp_why *why)
{
	struct host_pin *p = priv;
	int ret;

	if (req->p2p_token || req->va_space_token || !host_may_own(req->addr))
		return host_explain(-EFAULT, why);
	spin_lock_init(&p->lock);
	p->cookie = req->cookie;
	p->count = req->length >> PAGE_SHIFT;
	ret = host_account(p, why);
	if (ret)
		return ret;
	ret = host_alloc_pages(p, why);
	if (ret)
		goto err_account;
	ret = mmu_interval_notifier_insert(&p->notifier, current->mm, req->addr,
					   req->length, &host_notifier_ops);
	if (ret)
		goto err_pages;
	p->mm = current->mm;
	ret = host_pin_pages(p, req->addr);
	if (ret)
		goto err_notifier;
	mmgrab(p->mm);
	return 0;

err_notifier:
	mmu_interval_notifier_remove(&p->notifier);
err_pages:
	kvfree(p->pages);
	ret = host_explain(ret, why);
err_account:
	atomic64_sub(p->count, &current->mm->pinned_vm);
	return ret;
}

static int host_look(void *priv, u64 length, u32 *caching)
{
	*caching = PEERPIN_CACHING_CACHED;
	return 0;
}

static void host_extents(void *priv, struct pp_extents *x)
{
	struct host_pin *p = priv;
	unsigned long i;

	for (i = 0; i < p->count; i++) {
		pp_extents_add(x, page_to_phys(p->pages[i]), PAGE_SIZE);
		if (i % HOST_CHUNK == 0)
			cond_resched();
	}
}

/* Once the notifier is removed, nothing revokes the region any more. */
static void host_cleanup(void *priv)
{
	struct host_pin *p = priv;

	mmu_interval_notifier_remove(&p->notifier);
	host_unpin(p);	/* revoked during pin: the core called neither release nor unpin */
	mmdrop(p->mm);
	kvfree(p->pages);
}

const struct pp_provider pp_host_provider = {
	.owner = THIS_MODULE,
	.name = "host",
	.id = PEERPIN_PROVIDER_HOST,
	.page_size = PAGE_SIZE,
	.page_backed = true,
	.lasting = true,
	.priv_size = sizeof(struct host_pin),
	.pin = host_pin,
	.look = host_look,
	.extents = host_extents,
	.release = host_unpin,
	.unpin = host_unpin,
	.cleanup = host_cleanup,
};

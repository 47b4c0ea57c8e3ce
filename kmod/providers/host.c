// SPDX-License-Identifier: GPL-2.0
/*
 * Pages are pinned for long and writable. munmap(), mremap(), discarding and
 * the exit of the process revoke them through an MMU notifier, so that a
 * cached registration never outlives what its address means. The notifier
 * only says so: the pages stay pinned, and DMA in flight safe, until the core
 * releases them.
 */
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include "host.h"

enum {
	HOST_CHUNK = 1024,	/* pages between two looks around */
};

/*
 * struct host_pin - the private part of a region of host memory
 * @notifier: in use from pin to cleanup
 * @mm: whose memory; pages are accounted there while pinned
 * @lock: protects @pinned; spans "the range did not change while it was being
 *	pinned"
 * @pinned: pages hold pins
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
static_assert(sizeof(struct host_pin) <= PP_PRIV_MAX);

/*
 * CLEAR is said where memory goes (MADV_DONTNEED, truncation), but also where
 * only its page table is rewritten (a huge page split, at fork() for one).
 * Telling these apart takes a walk that cannot be made here; a region revoked
 * in vain is pinned again, one that is wrongly kept corrupts data. Changes of
 * protection leave pinned pages in place.
 */
static bool host_takes_pages(const struct mmu_notifier_range *range)
{
	return range->event == MMU_NOTIFY_UNMAP ||
	       range->event == MMU_NOTIFY_CLEAR ||
	       range->event == MMU_NOTIFY_RELEASE;
}

/* Under mmap_lock, i_mmap_rwsem or a page lock: no waiting, no allocating */
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
 * As RDMA accounts long-term pins: against RLIMIT_MEMLOCK, without mmap_lock. What
 * is too much is not added, not even for a moment, in which another thread's pin
 * would be refused.
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

/* What was not written to; chunks, as there may be many */
static void host_drop_pages(struct host_pin *p, unsigned long count)
{
	unsigned long done, n;

	for (done = 0; done < count; done += n) {
		n = min_t(unsigned long, count - done, HOST_CHUNK);
		unpin_user_pages(p->pages + done, n);
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
			host_drop_pages(p, done);
			return n ?: -EFAULT;
		}
		done += n;
		cond_resched();
	}
	return 0;
}

/* The pages are the range's only if nothing was unmapped meanwhile. */
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
		host_drop_pages(p, p->count);
	}
}

/* Chunks, because setting pages dirty takes page locks, one by one */
static void host_unpin_pages(struct host_pin *p)
{
	unsigned long done, n;

	for (done = 0; done < p->count; done += n) {
		n = min_t(unsigned long, p->count - done, HOST_CHUNK);
		unpin_user_pages_dirty_lock(p->pages + done, n, true);
		cond_resched();
	}
	atomic64_sub(p->count, &p->mm->pinned_vm);
}

/* unpin, release and cleanup: the first gives back */
static void host_unpin(void *priv)
{
	struct host_pin *p = priv;
	bool pinned;

	spin_lock(&p->lock);
	pinned = p->pinned;
	p->pinned = false;
	spin_unlock(&p->lock);
	if (pinned)
		host_unpin_pages(p);
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

/* No such memory is "not mine" to the core, whatever it is called here. */
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
 * A cheap first look, so that an address which is nobody's is called that, and
 * not too much for RLIMIT_MEMLOCK. Pinning looks at the whole range.
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

/* After removing the notifier no revocation of this region is called. */
static void host_cleanup(void *priv)
{
	struct host_pin *p = priv;

	mmu_interval_notifier_remove(&p->notifier);
	host_unpin(p);	/* a revocation that overtook pin left them */
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

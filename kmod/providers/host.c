// SPDX-License-Identifier: GPL-2.0
/*
 * Host memory: pages are pinned long-term and writable. munmap(), mremap(), MADV_DONTNEED and exit
 * revoke the region through the MMU notifier of its address space, so that a cached registration ends
 * when its address gets other memory. The notifier only revokes: until the core calls release(), pages
 * stay pinned and DMA in flight is safe.
 */
#include <linux/backing-dev.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/user.h>
#include "../compat/compat.h"
#include "../core/space/space.h"
#include "host.h"

enum {
	HOST_CHUNK = 1024,	/* pages between two calls of cond_resched() */
	HOST_TRIES = 8,		/* tries of a pin whose pages change before the region is live */
	HOST_FAULTS = 8,	/* attempts to fault a page in */
};

static bool memlock_per_user;
module_param(memlock_per_user, bool, 0644);
MODULE_PARM_DESC(memlock_per_user,
		 "count pinned host memory against RLIMIT_MEMLOCK by user, together with io_uring and perf, not by process");

#if PP_LONGTERM_PINS_FILES
static bool pin_shared_files;
module_param(pin_shared_files, bool, 0644);
MODULE_PARM_DESC(pin_shared_files,
		 "allow pins of writable shared mappings of files on a disk, which may lose data that a device writes");
#endif

/*
 * struct host_pin - the private part of a region of host memory
 * @range: in @space from before the pages are pinned until cleanup(), or until the range ends
 * @space: the pin holds a reference from pin() to cleanup()
 * @mm: address space of the process
 * @user: the user whose @locked_vm counts the pinned pages; NULL: @mm->pinned_vm counts them
 * @lock: protects @ended and @pinned. Taken inside the lock of @space
 * @ended: @range has ended
 * @pinned: the pages are pinned
 */
struct host_pin {
	struct pp_space_range range;
	struct pp_space *space;
	struct mm_struct *mm;
	struct user_struct *user;
	spinlock_t lock;
	bool ended;
	bool pinned;
	unsigned long cookie;
	unsigned long count;
	struct page **pages;
};

/*
 * Ranges of pins end if memory is unmapped or discarded, and also if only the page table changes (split of a huge
 * page, for example at fork()). The notifier cannot distinguish the two, so the region is revoked in both: a needless
 * revocation costs a new pin, a missed one corrupts data. A change of protection does not move pinned pages, and does
 * not end the range.
 */
static void host_end(struct pp_space_range *range, bool changed)
{
	struct host_pin *p = container_of(range, struct host_pin, range);
	bool revoke;

	spin_lock(&p->lock);
	p->ended = true;
	revoke = p->pinned;
	spin_unlock(&p->lock);
	if (revoke)
		pp_revoke_soon(p->cookie);
}

static const struct pp_space_ops host_ops = {
	.pinned = true,
	.end = host_end,
};

/* the count of pages to which RLIMIT_MEMLOCK applies */
static atomic64_t *host_count(struct host_pin *p)
{
	return p->user ? &p->user->locked_vm : &p->mm->pinned_vm;
}

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
	atomic64_t *count = host_count(p);
	s64 pinned = atomic64_read(count);

	do {
		if (!host_may_pin(p, pinned, why))
			return -ENOMEM;
	} while (!atomic64_try_cmpxchg(count, &pinned, pinned + p->count));
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

/* host_get_present() and host_await() pin up to @n pages and return the number of pinned pages or an error, never 0. */

/*
 * Without FOLL_NOFAULT, pin_user_pages_fast() waits for a missing page: before 6.3 with mmap_lock held and in spite of
 * SIGKILL, since 6.3 until SIGKILL. It does not accept FOLL_INTERRUPTIBLE. For hugetlb, 6.3 and 6.4 ignore FOLL_NOFAULT.
 */
static int host_get_present(unsigned long addr, int n, struct page **pages)
{
	return pin_user_pages_fast(addr, n, FOLL_WRITE | FOLL_LONGTERM | FOLL_NOFAULT, pages) ?: -EFAULT;
}

#if PP_LONGTERM_PINS_WAIT
static int host_await(unsigned long addr, int n, struct page **pages)
{
	return pin_user_pages_unlocked(addr, n, pages, FOLL_WRITE | FOLL_LONGTERM | FOLL_INTERRUPTIBLE) ?: -EFAULT;
}
#else
static vm_fault_t host_fault_one_locked(unsigned long addr, unsigned int flags)
{
	struct vm_area_struct *vma = vma_lookup(current->mm, addr);

	mmap_assert_locked(current->mm);
	if (!vma || !(vma->vm_flags & VM_WRITE) || vma->vm_flags & (VM_IO | VM_PFNMAP))
		return VM_FAULT_SIGSEGV;
	return handle_mm_fault(vma, addr, FAULT_FLAG_DEFAULT | FAULT_FLAG_WRITE | flags, NULL);
}

/*
 * Faults in up to @n pages from @addr. Stops at the first fault that fails, or that had to wait: the kernel has then
 * unlocked mmap_lock. Return: the result of that fault; 0 if no fault failed or only one after the first. Then the caller
 * pins the pages before it, and meets the failure in its next call.
 */
static vm_fault_t host_fault_in(unsigned long addr, int n, unsigned int flags)
{
	unsigned long end = addr + ((unsigned long)n << PAGE_SHIFT), at;
	vm_fault_t fault = 0;

	if (mmap_read_lock_killable(current->mm))
		return VM_FAULT_RETRY;
	for (at = addr; at < end; at += PAGE_SIZE) {
		fault = host_fault_one_locked(at, flags);
		if (fault & (VM_FAULT_RETRY | VM_FAULT_COMPLETED))
			return fault;
		if (fault & VM_FAULT_ERROR)
			break;
		cond_resched();
	}
	mmap_read_unlock(current->mm);
	return at == addr ? fault : 0;
}

/*
 * Before 6.3 a pin with FOLL_LONGTERM cannot wait so that signals end the wait. So the faults happen here, outside
 * ZONE_MOVABLE. userfaultfd can make one page wait twice: missing, then write-protected. A fault can also return 0 and
 * leave the page missing or read-only, if another thread changed the page table. HOST_FAULTS bounds such faults, because
 * of memory that is never pinned, like memfd_secret(): each fault there returns 0.
 */
static int host_await(unsigned long addr, int n, struct page **pages)
{
	unsigned int tries = HOST_FAULTS, flags = 0, saved;
	vm_fault_t fault;
	int got;

	do {
		saved = memalloc_pin_save();
		fault = host_fault_in(addr, n, flags);
		memalloc_pin_restore(saved);
		if (fault & VM_FAULT_ERROR)
			return vm_fault_to_errno(fault, 0) ?: -EFAULT;
		if (fault & VM_FAULT_RETRY && fatal_signal_pending(current))
			return -EINTR;
		got = host_get_present(addr, n, pages);
		if (got != -EFAULT)
			return got;
		if (fault & VM_FAULT_RETRY && signal_pending(current))
			return -EINTR;
		flags = fault & VM_FAULT_RETRY ? FAULT_FLAG_TRIED : 0;
	} while (flags || --tries);
	return -EFAULT;
}
#endif

/*
 * Any signal ends a wait for userfaultfd, and a fatal signal a wait for a file or for swap. No signal ends a wait for a FUSE
 * server without asynchronous reads. Only a fatal signal ends a pin that need not wait: otherwise a thread with a
 * profiler's timer, or with io_uring's task work, might never finish a large pin.
 */
static int host_get_some(unsigned long addr, unsigned long count, struct page **pages)
{
	int n = min_t(unsigned long, count, HOST_CHUNK), got;

	if (fatal_signal_pending(current))
		return -EINTR;
	got = host_get_present(addr, n, pages);
	if (got == -EFAULT)
		got = host_await(addr, n, pages);
	return got == -EFAULT && fatal_signal_pending(current) ? -EINTR : got;
}

static int host_get_pages(struct host_pin *p, unsigned long addr)
{
	unsigned long done = 0;

	while (done < p->count) {
		int n = host_get_some(addr + (done << PAGE_SHIFT), p->count - done, p->pages + done);

		if (n < 0) {
			host_drop_pages(p, done, false);
			return n;
		}
		done += n;
		cond_resched();
	}
	return 0;
}

/* False if the range has ended during pinning. From now on its end revokes the region. */
static bool host_commit(struct host_pin *p)
{
	bool pinned;

	spin_lock(&p->lock);
	pinned = p->pinned = !p->ended;
	spin_unlock(&p->lock);
	return pinned;
}

#if PP_LONGTERM_PINS_FILES
static bool host_loses_writes(const struct vm_area_struct *vma)
{
	return vma->vm_flags & VM_SHARED && vma->vm_file && mapping_can_writeback(vma->vm_file->f_mapping);
}

/*
 * The kernel writes a page of a file to the disk and marks the page clean. It does not see later writes by
 * a device, and may drop the page. Since 6.5 the kernel refuses such pins.
 *
 * A hole is refused too: another thread could map a file there before its page is pinned, and the MMU notifier
 * is not called for a hole. If a new mapping replaces an old one, the kernel calls the notifier for the old one, and
 * host_commit() fails.
 */
static bool host_may_pin_files(unsigned long addr, unsigned long end)
{
	struct vm_area_struct *vma;

	if (READ_ONCE(pin_shared_files))
		return true;
	mmap_read_lock(current->mm);
	while (addr < end) {
		vma = vma_lookup(current->mm, addr);
		if (!vma || host_loses_writes(vma))
			break;
		addr = vma->vm_end;
	}
	mmap_read_unlock(current->mm);
	return addr >= end;
}
#else
static bool host_may_pin_files(unsigned long addr, unsigned long end)
{
	return true;
}
#endif

static int host_get_allowed_pages(struct host_pin *p, unsigned long addr)
{
	if (!host_may_pin_files(addr, addr + (p->count << PAGE_SHIFT)))
		return -EFAULT;
	return host_get_pages(p, addr);
}

/*
 * After fork(), the first write to a page that the child shares replaces the page (COW). If several threads write to a
 * range or pin it, there is always a page that is being replaced. To pin all pages for a moment replaces all that are
 * left, so the next try meets few such changes. The next try also finds all errors but -EINTR.
 */
static int host_break_cow(struct host_pin *p, unsigned long addr)
{
	int ret = host_get_allowed_pages(p, addr);

	if (!ret)
		host_drop_pages(p, p->count, false);
	return ret == -EINTR ? ret : -ESTALE;
}

/* -ESTALE: a page of the range has changed meanwhile */
static int host_pin_pages(struct host_pin *p, unsigned long addr)
{
	int ret;

	ret = pp_space_add(p->space, &p->range);
	if (ret == -ESTALE)
		return host_break_cow(p, addr);
	if (ret)
		return ret;
	ret = host_get_allowed_pages(p, addr);
	if (!ret && !host_commit(p)) {
		host_drop_pages(p, p->count, false);
		ret = -ESTALE;
	}
	if (ret)
		pp_space_remove(p->space, &p->range);
	return ret;
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
	atomic64_sub(p->count, host_count(p));
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
	if (ret == -EFAULT || ret == -EEXIST) {	/* -EEXIST: a mapping without struct pages */
		why->reason = PEERPIN_REASON_NOT_MAPPED;
		return -EINVAL;
	}
	if (ret == -ENOMEM)
		why->reason = PEERPIN_REASON_NO_MEMORY;
	if (ret == -ESTALE)
		why->reason = PEERPIN_REASON_REVOKED;
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
	pp_space_range_init(&p->range, req->addr, req->addr + req->length - 1, &host_ops);
	p->cookie = req->cookie;
	p->count = req->length >> PAGE_SHIFT;
	p->mm = current->mm;
	p->user = READ_ONCE(memlock_per_user) ? get_uid(current_user()) : NULL;
	ret = host_account(p, why);
	if (ret)
		goto err_user;
	ret = host_alloc_pages(p, why);
	if (ret)
		goto err_account;
	p->space = pp_space_get();
	if (IS_ERR(p->space)) {
		ret = PTR_ERR(p->space);
		goto err_pages;
	}
	ret = host_pin_pages(p, req->addr);
	if (ret)
		goto err_space;
	mmgrab(p->mm);
	return 0;

err_space:
	pp_space_put(p->space);
err_pages:
	kvfree(p->pages);
	ret = host_explain(ret, why);
err_account:
	atomic64_sub(p->count, host_count(p));
err_user:
	free_uid(p->user);
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

	for (i = 0; i < p->count; i++)
		pp_extents_add(x, page_to_phys(p->pages[i]), PAGE_SIZE);
}

/* Once the range is removed, nothing revokes the region any more. */
static void host_cleanup(void *priv)
{
	struct host_pin *p = priv;

	pp_space_remove(p->space, &p->range);
	pp_space_put(p->space);
	host_unpin(p);	/* revoked during pin: the core called neither release nor unpin */
	mmdrop(p->mm);
	free_uid(p->user);
	kvfree(p->pages);
}

const struct pp_provider pp_host_provider = {
	.owner = THIS_MODULE,
	.name = "host",
	.id = PEERPIN_PROVIDER_HOST,
	.page_size = PAGE_SIZE,
	.page_backed = true,
	.lasting = true,
	.tries = HOST_TRIES,
	.priv_size = sizeof(struct host_pin),
	.pin = host_pin,
	.look = host_look,
	.extents = host_extents,
	.release = host_unpin,
	.unpin = host_unpin,
	.cleanup = host_cleanup,
};

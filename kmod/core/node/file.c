// SPDX-License-Identifier: GPL-2.0
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/export.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "../region/account.h"
#include "../dma/attach.h"
#include "../region/close.h"
#include "cpumap.h"
#include "../region/extents.h"
#include "file.h"
#include "../region/pin.h"
#include "watch.h"
#include "../../compat/compat.h"

static int file_take_entry(struct pp_table *t, u32 *id, struct pp_why *why)
{
	int ret = pp_table_take(t, NULL, id, NULL);

	if (ret == -ENOSPC) {
		why->reason = PEERPIN_REASON_LIMIT;
		return -EDQUOT;
	}
	if (ret)
		why->reason = PEERPIN_REASON_NO_MEMORY;
	return ret;
}

int pp_file_take_id(struct pp_file *f, struct pp_table *t, u32 *id, u32 **word, struct pp_why *why)
{
	u32 first = t == &f->watches ? PEERPIN_MAX_REGIONS : 0;
	int ret = file_take_entry(t, id, why);

	if (ret)
		return ret;
	*word = pp_epoch_word(&f->epochs, first + *id);
	if (*word)
		return 0;
	pp_table_give(t, *id);
	why->reason = PEERPIN_REASON_NO_MEMORY;
	return -ENOMEM;
}

void pp_file_give_id(struct pp_table *t, u32 id, const u32 *word)
{
	if (!pp_epoch_exhausted(word))
		pp_table_give(t, id);
}

struct peerpin_region *pp_file_pin(struct pp_file *f,
				   const struct pp_request *request,
				   u32 provider, u32 flags, u32 *id,
				   struct pp_why *why)
{
	struct peerpin_region *r;
	u32 *epoch;
	int ret;

	ret = pp_file_take_id(f, &f->regions, id, &epoch, why);
	if (ret)
		return ERR_PTR(ret);
	r = pp_region_pin(provider, flags, request, f->account, epoch, why);
	if (IS_ERR(r)) {
		pp_file_give_id(&f->regions, *id, epoch);
		return r;
	}
	WRITE_ONCE(r->id, *id + 1);
	return r;
}

void pp_file_publish(struct pp_file *f, u32 id, struct peerpin_region *r)
{
	pp_table_put(&f->regions, id, r);
}

/* The id is freed last, because pp_region_close_until() still writes the epoch word of the id. */
static void file_drop_until(struct pp_file *f, u32 id, struct peerpin_region *r, unsigned long deadline)
{
	const u32 *epoch = r->epoch;

	pp_region_close_until(r, deadline);
	pp_file_give_id(&f->regions, id, epoch);
}

void pp_file_drop(struct pp_file *f, u32 id, struct peerpin_region *r)
{
	file_drop_until(f, id, r, pp_revoke_deadline());
}

static int file_unpin_until(struct pp_file *f, u32 id, unsigned long deadline)
{
	struct peerpin_region *r = pp_table_take_out(&f->regions, id);

	if (!r)
		return -ENOENT;
	file_drop_until(f, id, r, deadline);
	return 0;
}

int pp_file_unpin(struct pp_file *f, u32 id)
{
	return file_unpin_until(f, id, pp_revoke_deadline());
}

struct peerpin_region *pp_file_region(struct pp_file *f, u32 id)
{
	return pp_table_glance(&f->regions, id);
}

static void file_stop_all(struct pp_file *f)
{
	struct peerpin_region *r;
	u32 id = 0;

	for (; (r = pp_table_next(&f->regions, &id)); id++, cond_resched()) {
		pp_region_close_soon(r);
		pp_region_put(r);
	}
}

/* All drivers are asked to stop before the first wait, so that one drain_timeout_ms is enough for all regions. */
static void file_unpin_all(struct pp_file *f)
{
	struct peerpin_region *r;
	unsigned long deadline;
	u32 id = 0;

	file_stop_all(f);
	deadline = pp_revoke_deadline();
	for (; (r = pp_table_next(&f->regions, &id)); id++, cond_resched()) {
		pp_region_put(r);
		file_unpin_until(f, id, deadline);
	}
}

static void file_set_mapping(struct pp_file *f, struct inode *inode, struct file *filp)
{
	address_space_init_once(&f->mapping);
	init_rwsem(&f->mapping.invalidate_lock);
	f->mapping.host = inode;
	f->mapping.a_ops = inode->i_mapping->a_ops;
	filp->f_mapping = &f->mapping;
}

static int file_open(struct inode *inode, struct file *filp)
{
	struct pp_file *f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);

	if (!f)
		return -ENOMEM;
	f->account = pp_account_get(task_tgid(current));
	if (!f->account) {
		kfree(f);
		return -ENOMEM;
	}
	pp_table_init(&f->regions, PEERPIN_MAX_REGIONS, GFP_KERNEL_ACCOUNT);
	pp_table_init(&f->watches, PEERPIN_MAX_WATCHES, GFP_KERNEL_ACCOUNT);
	pp_epochs_init(&f->epochs);
	file_set_mapping(f, inode, filp);
	filp->private_data = f;
	return nonseekable_open(inode, filp);
}

/*
 * If the owner exits while a child still has the file open, unpin now: NVIDIA's driver
 * ignores a put by any other process. "live" is 0 when the last thread exits. A thread with
 * its own file table may close the file before that, without effect here. The kernel does not
 * call this at the exit if the owner has closed its descriptors before, or if another process
 * shares the file table. Then file_release() unpins, at the last close.
 *
 * The kernel calls this for each descriptor, of which a process may have a million. The walks over
 * all ids are made once: no thread of the owner is left that could pin or watch.
 */
static int file_flush(struct file *filp, fl_owner_t id)
{
	struct pp_file *f = filp->private_data;

	if (atomic_read(&current->signal->live) || pp_file_check_owner(f) || READ_ONCE(f->emptied))
		return 0;
	file_unpin_all(f);
	pp_watch_end_all(f);
	WRITE_ONCE(f->emptied, true);
	return 0;
}

static int file_release(struct inode *inode, struct file *filp)
{
	struct pp_file *f = filp->private_data;

	file_unpin_all(f);
	pp_table_destroy(&f->regions);
	pp_watch_close(f);
	pp_epochs_free(&f->epochs);
	pp_account_put(f->account);
	kfree(f);
	return 0;
}

static int file_mmap_region(struct pp_file *f, struct vm_area_struct *vma)
{
	u64 pages = PEERPIN_MMAP_SPAN >> PAGE_SHIFT;
	struct peerpin_region *r;
	int ret;

	r = pp_file_region(f, vma->vm_pgoff / pages - 1);
	if (!r)
		return -ENOENT;
	ret = pp_cpumap_mmap(r, vma, (vma->vm_pgoff % pages) << PAGE_SHIFT);
	pp_region_put(r);
	return ret;
}

static int file_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct pp_file *f = filp->private_data;
	int ret = pp_file_check_owner(f);

	if (ret)
		return ret;
	if (vma->vm_pgoff < PEERPIN_MMAP_SPAN >> PAGE_SHIFT)
		return pp_epochs_mmap(&f->epochs, vma);
	return file_mmap_region(f, vma);
}

static void file_show_region(struct seq_file *m, u32 id, struct peerpin_region *r)
{
	seq_printf(m, "peerpin-region:\t%u %s 0x%llx %llu %s %llu %u ", id,
		   r->provider->name, r->addr, r->length,
		   pp_region_is_live(r) ? "live" : "revoked",
		   pp_region_age_ms(r), pp_extents_counted(r));
	pp_attach_show(r, m);
	seq_printf(m, " %s\n", pp_provider_flags(r->provider));
}

/* Stops when the buffer is full: seq_file calls again with a larger buffer. */
static void file_show_regions(struct seq_file *m, struct pp_file *f)
{
	struct peerpin_region *r;
	unsigned long count = 0;
	u64 bytes = 0;
	u32 id = 0;

	for (; !seq_has_overflowed(m) && (r = pp_table_next(&f->regions, &id)); id++) {
		file_show_region(m, id, r);
		bytes += pp_region_is_live(r) ? r->length : 0;
		count++;
		pp_region_put(r);
		cond_resched();
	}
	seq_printf(m, "peerpin-regions:\t%lu\npeerpin-bytes:\t%llu\n", count,
		   bytes);
}

/*
 * Any process may read fdinfo of its own descriptors, even of a file that another user's
 * process has sent. The addresses of the sending process must not be shown.
 */
static bool file_may_show(const struct seq_file *m, const struct file *filp)
{
	return !pp_file_check_owner(filp->private_data) ||
	       uid_eq(filp->f_cred->euid, m->file->f_cred->fsuid) ||
	       file_ns_capable(m->file, &init_user_ns, CAP_SYS_PTRACE);
}

static void file_show_fdinfo(struct seq_file *m, struct file *filp)
{
	struct pp_file *f = filp->private_data;
	struct pp_account_counts counts = pp_account_counts(f->account);

	seq_printf(m, "peerpin-owner:\t%d\n", pid_vnr(pp_account_owner(f->account)));
	if (!file_may_show(m, filp))
		return;
	file_show_regions(m, f);
	seq_printf(m, "peerpin-pins:\t%llu\npeerpin-revoked:\t%llu\npeerpin-watched:\t%llu\n",
		   counts.pins, counts.revoked, counts.watched);
}

const struct file_operations pp_fops = {
	.owner = THIS_MODULE,
	.open = file_open,
	.flush = file_flush,
	.release = file_release,
	.unlocked_ioctl = pp_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = file_mmap,
	.show_fdinfo = file_show_fdinfo,
	.llseek = noop_llseek,
};

static struct peerpin_region *file_region_checked(struct file *filp, u32 id)
{
	struct peerpin_region *r;
	int ret;

	if (filp->f_op != &pp_fops)
		return ERR_PTR(-EBADF);
	ret = pp_file_check_owner(filp->private_data);
	if (ret)
		return ERR_PTR(ret);
	r = pp_file_region(filp->private_data, id);
	if (!r)
		return ERR_PTR(-ENOENT);
	pp_region_note_lookup(r);
	return r;
}

struct peerpin_region *peerpin_region_get(int fd, u32 id)
{
	struct peerpin_region *r;
	struct fd f = fdget(fd);

	if (!fd_file(f))
		return ERR_PTR(-EBADF);
	r = file_region_checked(fd_file(f), id);
	fdput(f);
	return r;
}
EXPORT_SYMBOL_GPL(peerpin_region_get);

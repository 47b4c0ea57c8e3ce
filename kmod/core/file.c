// SPDX-License-Identifier: GPL-2.0
#include <linux/err.h>
#include <linux/export.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/pid.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include "attach.h"
#include "file.h"
#include "../compat/compat.h"

int pp_file_check_owner(const struct pp_file *f)
{
	return task_tgid(current) == f->owner ? 0 : -EACCES;
}

static int file_reserve_id(struct pp_file *f, u32 *id, u32 **epoch,
			   struct pp_why *why)
{
	int ret;

	ret = xa_alloc(&f->regions, id, NULL,
		       XA_LIMIT(0, PEERPIN_MAX_REGIONS - 1),
		       GFP_KERNEL_ACCOUNT);
	if (ret == -EBUSY) {
		why->reason = PEERPIN_REASON_LIMIT;
		return -EDQUOT;
	}
	*epoch = ret ? NULL : pp_epoch_word(&f->epochs, *id);
	if (*epoch)
		return 0;
	if (!ret)
		xa_erase(&f->regions, *id);
	why->reason = PEERPIN_REASON_NO_MEMORY;
	return -ENOMEM;
}

/* A retired id stays reserved, so it is never handed out again. */
static void file_free_id(struct pp_file *f, u32 id, const u32 *epoch)
{
	if (!pp_epoch_exhausted(epoch))
		xa_erase(&f->regions, id);
}

static struct pp_region *file_pin_by(u32 id, const struct pp_request *request,
				     u32 *epoch, struct pp_why *why)
{
	const struct pp_provider *provider = pp_provider_get(id);
	struct pp_region *r;

	if (!provider) {
		why->reason = PEERPIN_REASON_NO_PROVIDER;
		return ERR_PTR(-EOPNOTSUPP);
	}
	r = pp_region_pin(provider, request, epoch, why);
	pp_provider_put(provider);
	return r;
}

/* -EINVAL from a provider means: not mine */
static struct pp_region *file_pin_auto(const struct pp_request *request,
				       u32 *epoch, struct pp_why *why)
{
	struct pp_region *r = ERR_PTR(-EINVAL);
	const struct pp_provider *provider;
	unsigned int nth = 0;

	while (r == ERR_PTR(-EINVAL) && (provider = pp_provider_next(&nth))) {
		*why = (struct pp_why){};
		r = pp_region_pin(provider, request, epoch, why);
		pp_provider_put(provider);
	}
	if (r == ERR_PTR(-EINVAL))
		why->reason = PEERPIN_REASON_NOT_MAPPED;
	return r;
}

struct pp_region *pp_file_pin(struct pp_file *f,
			      const struct pp_request *request, u32 provider,
			      u32 *id, struct pp_why *why)
{
	struct pp_region *r;
	u32 *epoch;
	int ret;

	ret = file_reserve_id(f, id, &epoch, why);
	if (ret)
		return ERR_PTR(ret);
	r = provider == PEERPIN_PROVIDER_AUTO ?
		    file_pin_auto(request, epoch, why) :
		    file_pin_by(provider, request, epoch, why);
	if (IS_ERR(r)) {
		file_free_id(f, *id, epoch);
		return r;
	}
	/* once stored, another thread may unpin it under our hands */
	pp_region_get(r);
	xa_store(&f->regions, *id, r, GFP_KERNEL); /* reserved: cannot fail */
	return r;
}

int pp_file_unpin(struct pp_file *f, u32 id)
{
	struct pp_region *r;
	u32 *epoch;

	/* the id stays reserved until its word is at rest */
	xa_lock(&f->regions);
	r = xa_load(&f->regions, id);
	if (r)
		__xa_store(&f->regions, id, XA_ZERO_ENTRY, GFP_ATOMIC);
	xa_unlock(&f->regions);
	if (!r)
		return -ENOENT;
	epoch = r->epoch;
	pp_region_close(r);
	file_free_id(f, id, epoch);
	return 0;
}

struct pp_region *pp_file_region(struct pp_file *f, u32 id)
{
	struct pp_region *r;

	xa_lock(&f->regions);
	r = xa_load(&f->regions, id);
	if (r)
		pp_region_get(r);
	xa_unlock(&f->regions);
	return r;
}

static void file_unpin_all(struct pp_file *f)
{
	struct pp_region *r;
	unsigned long id;

	xa_for_each(&f->regions, id, r)
		pp_file_unpin(f, id);
}

static int file_open(struct inode *inode, struct file *filp)
{
	struct pp_file *f = kzalloc(sizeof(*f), GFP_KERNEL_ACCOUNT);

	if (!f)
		return -ENOMEM;
	f->owner = get_pid(task_tgid(current));
	xa_init_flags(&f->regions, XA_FLAGS_ALLOC);
	filp->private_data = f;
	return nonseekable_open(inode, filp);
}

/*
 * The owner exits while a child still holds the file: unpin now, as the GPU's
 * driver ignores a put by any other process. "live" is 0 when the last thread
 * exits; one that has unshared its files may close them before.
 */
static int file_flush(struct file *filp, fl_owner_t id)
{
	struct pp_file *f = filp->private_data;

	if (!atomic_read(&current->signal->live) && !pp_file_check_owner(f))
		file_unpin_all(f);
	return 0;
}

static int file_release(struct inode *inode, struct file *filp)
{
	struct pp_file *f = filp->private_data;

	file_unpin_all(f);
	xa_destroy(&f->regions);
	pp_epochs_free(&f->epochs);
	put_pid(f->owner);
	kfree(f);
	return 0;
}

static int file_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct pp_file *f = filp->private_data;
	int ret = pp_file_check_owner(f);

	return ret ?: pp_epochs_mmap(&f->epochs, vma);
}

static void file_show_region(struct seq_file *m, u32 id, struct pp_region *r)
{
	seq_printf(m, "peerpin-region:\t%u %s 0x%llx %llu %s %lld %u ", id,
		   r->provider->name, r->addr, r->length,
		   pp_region_is_live(r) ? "live" : "revoked",
		   ktime_ms_delta(ktime_get(), r->since), r->extents.count);
	pp_attach_show(r, m);
	seq_putc(m, '\n');
}

static void file_show_fdinfo(struct seq_file *m, struct file *filp)
{
	struct pp_file *f = filp->private_data;
	unsigned long id, count = 0;
	struct pp_region *r;
	u64 bytes = 0;

	seq_printf(m, "peerpin-owner:\t%d\n", pid_vnr(f->owner));
	xa_for_each(&f->regions, id, r) {
		r = pp_file_region(f, id);
		if (!r)
			continue;
		file_show_region(m, id, r);
		bytes += pp_region_is_live(r) ? r->length : 0;
		count++;
		pp_region_put(r);
	}
	seq_printf(m, "peerpin-regions:\t%lu\npeerpin-bytes:\t%llu\n", count,
		   bytes);
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

struct peerpin_attach *peerpin_attach(struct peerpin_peer *peer, int fd,
				      u32 region)
{
	struct peerpin_attach *a;
	struct pp_region *r;
	struct file *filp;
	int ret;

	filp = fget(fd);
	if (!filp)
		return ERR_PTR(-EBADF);
	a = ERR_PTR(-EBADF);
	if (filp->f_op != &pp_fops)
		goto out;
	ret = pp_file_check_owner(filp->private_data);
	a = ERR_PTR(ret);
	if (ret)
		goto out;
	r = pp_file_region(filp->private_data, region);
	a = ERR_PTR(-ENOENT);
	if (!r)
		goto out;
	a = pp_attach_region(peer, r);
	pp_region_put(r);
out:
	fput(filp);
	return a;
}
EXPORT_SYMBOL_GPL(peerpin_attach);

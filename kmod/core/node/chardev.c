// SPDX-License-Identifier: GPL-2.0
/*
 * The commands of /dev/peerpin; kmod/uapi/peerpin.h is their contract. A command copies
 * its outputs to the user before it publishes the new region or descriptor. So no other thread
 * can use or close a region or descriptor before the user knows its number.
 */
#include <linux/capability.h>
#include <linux/dma-buf.h>
#include <linux/err.h>
#include <linux/fcntl.h>
#include <linux/file.h>
#include <linux/uaccess.h>
#include "../dma/attach.h"
#include "../dma/export.h"
#include "../region/extents.h"
#include "file.h"
#include "../region/pin.h"
#include "watch.h"

/*
 * Inlined, so that the usual copy has a constant size. The first field of @c is the user's
 * size. Overwrite this field with the checked size, because userspace may have changed the
 * size after the check.
 * @first: bytes of the command's first version
 */
static __always_inline int cmd_copy_in(void *c, u32 size, u32 first,
				       void __user *user)
{
	u32 user_size;
	int ret;

	if (get_user(user_size, (u32 __user *)user))
		return -EFAULT;
	if (user_size < first)
		return -EINVAL;
	if (user_size > PAGE_SIZE)
		return -E2BIG;
	if (user_size == size)
		ret = copy_from_user(c, user, size) ? -EFAULT : 0;
	else
		ret = copy_struct_from_user(c, size, user, user_size);
	*(u32 *)c = user_size;
	return ret;
}

/* @from: offset of the first output */
static __always_inline int cmd_copy_out(void __user *user, const void *c,
					u32 size, u32 from)
{
	u32 user_size = *(const u32 *)c;
	unsigned long left;

	if (user_size >= size)
		left = copy_to_user(user + from, c + from, size - from);
	else
		left = copy_to_user(user + from, c + from, user_size - from);
	return left ? -EFAULT : 0;
}

#define CMD_COPY_IN(c, last, user) \
	cmd_copy_in(&(c), sizeof(c), offsetofend(typeof(c), last), user)
#define CMD_COPY_OUT(user, c, first) \
	cmd_copy_out(user, &(c), sizeof(c), offsetof(typeof(c), first))

static void pin_report(struct peerpin_pin *c, u32 id, const struct peerpin_region *r)
{
	c->out_region = id;
	c->out_slot = id;
	c->out_epoch = r->pin_epoch;
	c->out_provider = r->provider->id;
	c->out_addr = r->addr;
	c->out_length = r->length;
	c->out_page_size = r->provider->page_size;
	c->out_reason = PEERPIN_REASON_NONE;
	c->out_needed = 0;
	c->out_caching = r->caching;
	c->out_available = 0;
}

static void pin_report_why(struct peerpin_pin *c, const struct pp_why *why)
{
	c->out_reason = why->reason;
	c->out_needed = why->needed;
	c->out_available = why->available;
}

/*
 * NVIDIA's driver does not check that a token belongs to its caller. Tokens are
 * sequential, so any process could guess the tokens of another process and pin its memory.
 */
static bool pin_may_say_tokens(const struct peerpin_pin *c)
{
	return (!c->p2p_token && !c->va_space_token) || capable(CAP_SYS_PTRACE);
}

static struct peerpin_region *pin_run(struct pp_file *f,
				      const struct peerpin_pin *c, u32 *id,
				      struct pp_why *why)
{
	const struct pp_request request = {
		.addr = c->addr,
		.length = c->length,
		.p2p_token = c->p2p_token,
		.va_space_token = c->va_space_token,
		.fd = c->fd,
	};
	int ret = pp_region_check(c->addr, c->length, c->provider, c->flags, c->fd);

	if (ret)
		return ERR_PTR(ret);
	if (!pin_may_say_tokens(c))
		return ERR_PTR(-EPERM);
	return pp_file_pin(f, &request, c->provider, c->flags, id, why);
}

static long cmd_pin(struct pp_file *f, void __user *user)
{
	struct peerpin_region *r;
	struct pp_why why = {};
	struct peerpin_pin c;
	int ret;
	u32 id;

	ret = CMD_COPY_IN(c, out_needed, user);
	if (ret)
		return ret;
	r = pin_run(f, &c, &id, &why);
	if (IS_ERR(r)) {
		pin_report_why(&c, &why);
		return CMD_COPY_OUT(user, c, out_region) ?: PTR_ERR(r);
	}
	pin_report(&c, id, r);
	ret = CMD_COPY_OUT(user, c, out_region);
	if (ret)
		pp_file_drop(f, id, r);
	else
		pp_file_publish(f, id, r);
	return ret;
}

static long cmd_unpin(struct pp_file *f, void __user *user)
{
	struct peerpin_unpin c;
	int ret = CMD_COPY_IN(c, region, user);

	return ret ?: pp_file_unpin(f, c.region);
}

static void query_report(struct peerpin_query *c, struct peerpin_region *r)
{
	c->out_state = pp_region_is_live(r) ? PEERPIN_STATE_LIVE : PEERPIN_STATE_REVOKED;
	c->out_provider = r->provider->id;
	c->out_addr = r->addr;
	c->out_length = r->length;
	c->out_page_size = r->provider->page_size;
	c->out_attached = pp_attach_count(r);
	pp_extents_read(r);	/* on failure the count is 0 */
	c->out_extents = pp_extents_counted(r);
	c->out_maps = READ_ONCE(r->maps);
	c->out_flags = r->provider->flags;
	c->out_caching = r->caching;
}

static long cmd_query(struct pp_file *f, void __user *user)
{
	struct peerpin_region *r;
	struct peerpin_query c;
	int ret;

	ret = CMD_COPY_IN(c, out_maps, user);
	if (ret)
		return ret;
	r = pp_file_region(f, c.region);
	if (!r)
		return -ENOENT;
	query_report(&c, r);
	pp_region_put(r);
	return CMD_COPY_OUT(user, c, out_state);
}

static struct dma_buf *export_run(struct pp_file *f,
				  const struct peerpin_export *c)
{
	struct peerpin_region *r;
	struct dma_buf *dmabuf;

	if (c->flags)
		return ERR_PTR(-EOPNOTSUPP);
	r = pp_file_region(f, c->region);
	if (!r)
		return ERR_PTR(-ENOENT);
	dmabuf = pp_export(r, c->offset, c->length);
	pp_region_put(r);
	return dmabuf;
}

static int export_give(void __user *user, struct peerpin_export *c,
		       struct dma_buf *dmabuf)
{
	int fd = get_unused_fd_flags(O_CLOEXEC);
	int ret;

	if (fd < 0)
		return fd;
	c->out_fd = fd;
	ret = CMD_COPY_OUT(user, *c, out_fd);
	if (ret)
		put_unused_fd(fd);
	else
		fd_install(fd, dmabuf->file);
	return ret;
}

static long cmd_export(struct pp_file *f, void __user *user)
{
	struct peerpin_export c;
	struct dma_buf *dmabuf;
	int ret;

	ret = CMD_COPY_IN(c, length, user);
	if (ret)
		return ret;
	dmabuf = export_run(f, &c);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	ret = export_give(user, &c, dmabuf);
	if (ret)
		dma_buf_put(dmabuf);
	return ret;
}

static long cmd_watch(struct pp_file *f, void __user *user)
{
	struct peerpin_watch c;
	struct pp_watch *w;
	int ret;

	ret = CMD_COPY_IN(c, out_available, user);
	if (ret)
		return ret;
	if (c.flags)
		return -EOPNOTSUPP;
	w = pp_watch_begin(f, &c);
	ret = CMD_COPY_OUT(user, c, out_watch);
	if (IS_ERR(w))
		return ret ?: PTR_ERR(w);
	if (ret)
		pp_watch_drop(f, c.out_watch, w);
	else
		pp_watch_publish(f, c.out_watch, w);
	return ret;
}

static long cmd_unwatch(struct pp_file *f, void __user *user)
{
	struct peerpin_unwatch c;
	int ret = CMD_COPY_IN(c, watch, user);

	if (ret)
		return ret;
	if (c.watch != PEERPIN_WATCH_ALL)
		return pp_watch_end(f, c.watch);
	pp_watch_end_all(f);
	return 0;
}

long pp_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct pp_file *f = filp->private_data;
	void __user *user = (void __user *)arg;
	int ret = pp_file_check_owner(f);

	switch (cmd) {
	case PEERPIN_IOC_PIN:
		return ret ?: cmd_pin(f, user);
	case PEERPIN_IOC_UNPIN:
		return ret ?: cmd_unpin(f, user);
	case PEERPIN_IOC_QUERY:
		return ret ?: cmd_query(f, user);
	case PEERPIN_IOC_EXPORT:
		return ret ?: cmd_export(f, user);
	case PEERPIN_IOC_WATCH:
		return ret ?: cmd_watch(f, user);
	case PEERPIN_IOC_UNWATCH:
		return ret ?: cmd_unwatch(f, user);
	default:
		return -ENOTTY;
	}
}

// SPDX-License-Identifier: GPL-2.0
/* The commands of /dev/peerpin; ../uapi/peerpin.h is their contract. */
#include <linux/err.h>
#include <linux/uaccess.h>
#include "attach.h"
#include "export.h"
#include "extents.h"
#include "file.h"

union pp_cmd {
	u32 size;
	struct peerpin_pin pin;
	struct peerpin_unpin unpin;
	struct peerpin_query query;
	struct peerpin_export export;
};

/**
 * struct pp_cmd_op - how a command is taken in and carried out
 * @cmd: ioctl number
 * @size: of the struct as this kernel knows it
 * @min_size: of its first version
 * @run: may fill outputs of the command also when it fails
 */
struct pp_cmd_op {
	unsigned int cmd;
	u32 size;
	u32 min_size;
	int (*run)(struct pp_file *f, union pp_cmd *c);
};

static void pin_report(struct peerpin_pin *c, u32 id, const struct peerpin_region *r)
{
	c->out_region = id;
	c->out_slot = id;
	c->out_epoch = r->pin_epoch;
	c->out_provider = r->provider->id;
	c->out_addr = r->addr;
	c->out_length = r->length;
	c->out_page_size = r->provider->page_size;
	c->out_caching = r->caching;
}

static int cmd_pin(struct pp_file *f, union pp_cmd *cmd)
{
	struct peerpin_pin *c = &cmd->pin;
	const struct pp_request request = {
		.addr = c->addr,
		.length = c->length,
		.p2p_token = c->p2p_token,
		.va_space_token = c->va_space_token,
		.fd = c->fd,
	};
	struct pp_why why = {};
	struct peerpin_region *r;
	u32 id;
	int ret;

	c->out_reason = PEERPIN_REASON_NONE;
	c->out_needed = 0;
	c->out_available = 0;
	ret = pp_region_check(c->addr, c->length, c->provider, c->flags, c->fd);
	if (ret)
		return ret;
	r = pp_file_pin(f, &request, c->provider, c->flags, &id, &why);
	if (IS_ERR(r)) {
		c->out_reason = why.reason;
		c->out_needed = why.needed;
		c->out_available = why.available;
		return PTR_ERR(r);
	}
	pin_report(c, id, r);
	pp_file_publish(f, id, r);
	return 0;
}

static int cmd_unpin(struct pp_file *f, union pp_cmd *cmd)
{
	return pp_file_unpin(f, cmd->unpin.region);
}

static int cmd_query(struct pp_file *f, union pp_cmd *cmd)
{
	struct peerpin_query *c = &cmd->query;
	struct peerpin_region *r;
	bool live;

	r = pp_file_region(f, c->region);
	if (!r)
		return -ENOENT;
	live = pp_region_is_live(r);
	c->out_state = live ? PEERPIN_STATE_LIVE : PEERPIN_STATE_REVOKED;
	c->out_provider = r->provider->id;
	c->out_addr = r->addr;
	c->out_length = r->length;
	c->out_page_size = r->provider->page_size;
	c->out_attached = pp_attach_count(r);
	pp_extents_read(r);	/* when it is revoked, or fails, there are none to tell */
	c->out_extents = pp_extents_counted(r);
	c->out_maps = READ_ONCE(r->maps);
	c->out_flags = r->provider->flags;
	c->out_caching = r->caching;
	pp_region_put(r);
	return 0;
}

static int cmd_export(struct pp_file *f, union pp_cmd *cmd)
{
	struct peerpin_export *c = &cmd->export;
	struct peerpin_region *r;

	if (c->flags)
		return -EOPNOTSUPP;
	r = pp_file_region(f, c->region);
	if (!r)
		return -ENOENT;
	c->out_fd = pp_export_fd(r, c->offset, c->length);
	pp_region_put(r);
	return min(c->out_fd, 0);
}

#define PP_CMD(_cmd, _member, _last, _run)				\
	{								\
		.cmd = (_cmd),						\
		.size = sizeof_field(union pp_cmd, _member),		\
		.min_size = offsetofend(union pp_cmd, _member._last),	\
		.run = (_run),						\
	}

static const struct pp_cmd_op cmd_ops[] = {
	PP_CMD(PEERPIN_IOC_PIN, pin, out_needed, cmd_pin),
	PP_CMD(PEERPIN_IOC_UNPIN, unpin, region, cmd_unpin),
	PP_CMD(PEERPIN_IOC_QUERY, query, out_maps, cmd_query),
	PP_CMD(PEERPIN_IOC_EXPORT, export, length, cmd_export),
};

static const struct pp_cmd_op *cmd_find(unsigned int cmd)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cmd_ops); i++)
		if (cmd_ops[i].cmd == cmd)
			return &cmd_ops[i];
	return NULL;
}

static int cmd_copy_in(const struct pp_cmd_op *op, void __user *arg,
		       union pp_cmd *c)
{
	u32 size;
	int ret;

	if (get_user(size, (u32 __user *)arg))
		return -EFAULT;
	if (size < op->min_size)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	ret = copy_struct_from_user(c, op->size, arg, size);
	c->size = size;	/* as checked, whatever userspace has made of it since */
	return ret;
}

/*
 * A pin whose answer cannot be written is undone: nobody would know its id.
 */
static int cmd_copy_out(struct pp_file *f, const struct pp_cmd_op *op,
			void __user *arg, const union pp_cmd *c, int ret)
{
	if (!copy_to_user(arg, c, min(c->size, op->size)))
		return ret;
	if (!ret && op->run == cmd_pin)
		pp_file_unpin(f, c->pin.out_region);
	return -EFAULT;
}

long pp_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	const struct pp_cmd_op *op = cmd_find(cmd);
	struct pp_file *f = filp->private_data;
	void __user *user = (void __user *)arg;
	union pp_cmd c = {};
	int ret;

	if (!op)
		return -ENOTTY;
	ret = pp_file_check_owner(f);
	if (ret)
		return ret;
	ret = cmd_copy_in(op, user, &c);
	if (ret)
		return ret;
	ret = op->run(f, &c);
	return cmd_copy_out(f, op, user, &c, ret);
}

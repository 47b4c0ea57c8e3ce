// SPDX-License-Identifier: GPL-2.0
/*
 * NVIDIA GPU memory through nvidia_p2p_get_pages(), the token API.
 *
 * The vendor's driver may not be GPL, so this module uses nothing that is
 * exported for GPL modules only.
 *
 * What the vendor leaves to us: put_pages returns 0 both when it unlinked the
 * pin and when the free callback runs or has run, so the callback gets a
 * cookie, never a pointer; the table is read only between pin and release,
 * which the core keeps apart; and put_pages by another process does nothing.
 */
#include <linux/module.h>
#include <linux/rwsem.h>
#include <nv-p2p.h>
#include "../core/provider.h"

#define NV_PAGE_SIZE (64u << 10)

/*
 * The vendor finds a pin by the address of its table, and frees the table
 * after the callback. A put that lost that race names freed memory, which a
 * new pin may have been given meanwhile; so none of ours is made while one of
 * ours is put. Pins run side by side. The callback never takes this.
 */
static DECLARE_RWSEM(nv_puts);

/*
 * struct nv_pin - the private part of a region of GPU memory
 * @released: the callback has taken the table; it must not be put any more
 * @put: it was put
 */
struct nv_pin {
	struct nvidia_p2p_page_table *table;
	bool released;
	bool put;
	u64 p2p_token;
	u32 va_space_token;
	u64 addr;
};

static void nv_free_callback(void *data)
{
	pp_revoke((unsigned long)data);
}

static void nv_explain(int ret, const struct pp_request *req,
		       struct pp_why *why)
{
	why->reason = PEERPIN_REASON_VENDOR_ERROR;
	if (ret == -EINVAL)
		why->reason = PEERPIN_REASON_VENDOR_REFUSED;
	if (ret == -ENOMEM) {
		why->reason = PEERPIN_REASON_NO_BAR1;
		why->needed = req->length;
	}
}

/* The vendor's own codes that mean nothing to a user of ours */
static int nv_errno(int ret)
{
	return ret == -ENOTSUPP ? -EOPNOTSUPP : ret;
}

static int nv_get_pages(struct nv_pin *p, const struct pp_request *req,
			struct pp_why *why)
{
	struct nvidia_p2p_page_table *table = NULL;
	int ret;

	down_read(&nv_puts);
	/* on failure the vendor may leave @table dangling: not stored */
	ret = nvidia_p2p_get_pages(req->p2p_token, req->va_space_token,
				   req->addr, req->length, &table,
				   nv_free_callback, (void *)req->cookie);
	up_read(&nv_puts);
	if (ret) {
		nv_explain(ret, req, why);
		return nv_errno(ret);
	}
	p->table = table;
	return 0;
}

static int nv_pin(void *priv, const struct pp_request *req, struct pp_why *why)
{
	struct nv_pin *p = priv;

	p->p2p_token = req->p2p_token;
	p->va_space_token = req->va_space_token;
	p->addr = req->addr;
	return nv_get_pages(p, req, why);
}

static bool nv_table_readable(const struct nvidia_p2p_page_table *table)
{
	return NVIDIA_P2P_PAGE_TABLE_VERSION_COMPATIBLE(table) &&
	       table->page_size == NVIDIA_P2P_PAGE_SIZE_64KB;
}

static int nv_extents(void *priv, struct pp_extents *x)
{
	const struct nv_pin *p = priv;
	u32 i;

	if (!nv_table_readable(p->table))
		return -EOPNOTSUPP;
	for (i = 0; i < p->table->entries; i++)
		pp_extents_add(x, p->table->pages[i]->physical_address,
			       NV_PAGE_SIZE);
	return 0;
}

static void nv_release(void *priv)
{
	struct nv_pin *p = priv;

	WRITE_ONCE(p->released, true);
	nvidia_p2p_free_page_table(p->table);
}

static void nv_unpin(void *priv)
{
	struct nv_pin *p = priv;

	int ret = 0;

	down_write(&nv_puts);
	p->put = true;
	if (!READ_ONCE(p->released))
		ret = nvidia_p2p_put_pages(p->p2p_token, p->va_space_token,
					   p->addr, p->table);
	up_write(&nv_puts);
	if (!ret)
		return;
	/* still pinned, so our callback may come: it must find this module */
	__module_get(THIS_MODULE);
	pr_err("peerpin_nv: put_pages failed (%d); GPU memory stays pinned until it is freed\n",
	       ret);
}

/*
 * A callback that overtook get_pages could not free a table that nobody knew
 * yet. Drivers that free tables themselves take no notice of this call.
 */
static void nv_cleanup(void *priv)
{
	struct nv_pin *p = priv;

	if (!p->released && !p->put)
		nvidia_p2p_free_page_table(p->table);
}

static const struct pp_provider nv_provider = {
	.owner = THIS_MODULE,
	.name = "nv",
	.id = PEERPIN_PROVIDER_NV,
	.page_size = NV_PAGE_SIZE,
	.unpin_by_owner = true,
	.priv_size = sizeof(struct nv_pin),
	.pin = nv_pin,
	.extents = nv_extents,
	.release = nv_release,
	.unpin = nv_unpin,
	.cleanup = nv_cleanup,
};

static int __init nv_init(void)
{
	return pp_provider_register(&nv_provider);
}

static void __exit nv_exit(void)
{
	pp_provider_unregister(&nv_provider);
}

module_init(nv_init);
module_exit(nv_exit);
MODULE_DESCRIPTION("peerpin provider: NVIDIA GPU memory");
MODULE_LICENSE("GPL");

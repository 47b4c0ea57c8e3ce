// SPDX-License-Identifier: GPL-2.0
/*
 * NVIDIA GPU memory: nvidia_p2p_get_pages() (revocable), and its persistent
 * form, which the memory's end does not end. Two interfaces, two tables.
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
#include <linux/pid.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <nv-p2p.h>
#include "../core/provider.h"

#define NV_PAGE_SIZE (64u << 10)

enum {
	NV_PUTS = 64,
};

/*
 * The vendor finds a pin by its process and the address of its table, and frees
 * the table after the callback. A put that lost that race names freed memory,
 * which a new pin may have been given meanwhile; so no process makes one while
 * it puts one. Pins run side by side, and so do processes. The callback never
 * takes these.
 */
static struct rw_semaphore nv_puts[NV_PUTS];

static struct rw_semaphore *nv_puts_here(void)
{
	return &nv_puts[task_tgid_nr(current) % NV_PUTS];
}

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
static_assert(sizeof(struct nv_pin) <= PP_PRIV_MAX);

/* The vendor's own codes that mean nothing to a user of ours */
static int nv_explain(int ret, const struct pp_request *req,
		      struct pp_why *why)
{
	why->reason = PEERPIN_REASON_VENDOR_ERROR;
	if (ret == -EINVAL)
		why->reason = PEERPIN_REASON_VENDOR_REFUSED;
	if (ret == -ENOMEM) {
		why->reason = PEERPIN_REASON_NO_BAR1;
		why->needed = req->length;
	}
	return ret == -ENOTSUPP ? -EOPNOTSUPP : ret;
}

static u32 nv_caching(const struct nvidia_p2p_page_table *table)
{
#ifdef NVIDIA_P2P_PAGE_TABLE_FLAGS_CPU_CACHEABLE	/* since 580 */
	if (table->flags & NVIDIA_P2P_PAGE_TABLE_FLAGS_CPU_CACHEABLE)
		return PEERPIN_CACHING_CACHED;
#endif
	return PEERPIN_CACHING_COMBINED;
}

static int nv_look(void *priv, u64 length, u32 *caching)
{
	const struct nv_pin *p = priv;

	if (!NVIDIA_P2P_PAGE_TABLE_VERSION_COMPATIBLE(p->table) ||
	    p->table->page_size != NVIDIA_P2P_PAGE_SIZE_64KB)
		return -EOPNOTSUPP;
	if ((u64)p->table->entries * NV_PAGE_SIZE != length)
		return -EIO;
	*caching = nv_caching(p->table);
	return 0;
}

static u64 nv_page(const struct nv_pin *p, u32 i)
{
	return p->table->pages[i]->physical_address;
}

static void nv_extents(void *priv, struct pp_extents *x)
{
	const struct nv_pin *p = priv;
	u32 i, first;

	for (i = 0; i < p->table->entries; ) {
		first = i++;
		while (i < p->table->entries &&
		       nv_page(p, i) == nv_page(p, i - 1) + NV_PAGE_SIZE)
			i++;
		pp_extents_add(x, nv_page(p, first),
			       (u64)(i - first) * NV_PAGE_SIZE);
	}
}

/* ---- revocable --------------------------------------------------------------- */

static void nv_free_callback(void *data)
{
	pp_revoke((unsigned long)data);
}

static int nv_pin(void *priv, const struct pp_request *req, struct pp_why *why)
{
	struct rw_semaphore *puts = nv_puts_here();
	struct nvidia_p2p_page_table *table = NULL;
	struct nv_pin *p = priv;
	int ret;

	p->p2p_token = req->p2p_token;
	p->va_space_token = req->va_space_token;
	p->addr = req->addr;
	down_read(puts);
	/* on failure the vendor may leave @table dangling: not stored */
	ret = nvidia_p2p_get_pages(req->p2p_token, req->va_space_token,
				   req->addr, req->length, &table,
				   nv_free_callback, (void *)req->cookie);
	up_read(puts);
	if (ret)
		return nv_explain(ret, req, why);
	p->table = table;
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
	struct rw_semaphore *puts = nv_puts_here();
	struct nv_pin *p = priv;
	int ret = 0;

	down_write(puts);
	p->put = true;
	if (!READ_ONCE(p->released))
		ret = nvidia_p2p_put_pages(p->p2p_token, p->va_space_token,
					   p->addr, p->table);
	up_write(puts);
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
	.look = nv_look,
	.extents = nv_extents,
	.release = nv_release,
	.unpin = nv_unpin,
	.cleanup = nv_cleanup,
};

/* ---- persistent -------------------------------------------------------------- */

#ifdef NVIDIA_P2P_CAP_GET_PAGES_PERSISTENT_API	/* since 525.105 */

/* The driver that runs may be older than the header: then these are NULL. */
typeof(nvidia_p2p_get_pages_persistent)
	nvidia_p2p_get_pages_persistent __weak;
typeof(nvidia_p2p_put_pages_persistent)
	nvidia_p2p_put_pages_persistent __weak;

/* Whether there is one is read from memory: arm64's loader knows no other way to what may be missing. */
static const void *nv_persistent_api = nvidia_p2p_get_pages_persistent;

static int nv_pin_persistent(void *priv, const struct pp_request *req,
			     struct pp_why *why)
{
	struct nvidia_p2p_page_table *table = NULL;
	struct nv_pin *p = priv;
	int ret;

	if (!READ_ONCE(nv_persistent_api) || req->p2p_token ||
	    req->va_space_token) {
		why->reason = PEERPIN_REASON_NO_API;
		return -EOPNOTSUPP;
	}
	p->addr = req->addr;
	ret = nvidia_p2p_get_pages_persistent(req->addr, req->length, &table, 0);
	if (ret)
		return nv_explain(ret, req, why);
	p->table = table;
	return 0;
}

static void nv_unpin_persistent(void *priv)
{
	struct nv_pin *p = priv;
	int ret = nvidia_p2p_put_pages_persistent(p->addr, p->table, 0);

	if (ret)
		pr_err("peerpin_nv: put_pages_persistent failed (%d); GPU memory stays pinned until the GPU's driver is unloaded\n",
		       ret);
}

#else

static int nv_pin_persistent(void *priv, const struct pp_request *req,
			     struct pp_why *why)
{
	why->reason = PEERPIN_REASON_NO_API;
	return -EOPNOTSUPP;
}

static void nv_unpin_persistent(void *priv)
{
}

#endif

static const struct pp_provider nv_persistent_provider = {
	.owner = THIS_MODULE,
	.name = "nv-persistent",
	.id = PEERPIN_PROVIDER_NV,
	.flags = PEERPIN_PIN_PERSISTENT,
	.page_size = NV_PAGE_SIZE,
	.lasting = true,
	.priv_size = sizeof(struct nv_pin),
	.pin = nv_pin_persistent,
	.look = nv_look,
	.extents = nv_extents,
	.release = nv_unpin_persistent,
	.unpin = nv_unpin_persistent,
};

static int __init nv_init(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < NV_PUTS; i++)
		init_rwsem(&nv_puts[i]);
	ret = pp_provider_register(&nv_provider);
	if (ret)
		return ret;
	ret = pp_provider_register(&nv_persistent_provider);
	if (ret)
		pp_provider_unregister(&nv_provider);
	return ret;
}

static void __exit nv_exit(void)
{
	pp_provider_unregister(&nv_persistent_provider);
	pp_provider_unregister(&nv_provider);
}

module_init(nv_init);
module_exit(nv_exit);
MODULE_DESCRIPTION("peerpin provider: NVIDIA GPU memory");
MODULE_LICENSE("GPL");

// SPDX-License-Identifier: GPL-2.0
/*
 * NVIDIA GPU memory: nvidia_p2p_get_pages() makes revocable pins, and
 * nvidia_p2p_get_pages_persistent() makes pins that outlive cuMemFree(). Each kind of pin has a
 * provider.
 *
 * NVIDIA's driver may be proprietary, so this module uses no symbol that is exported for GPL
 * modules only.
 *
 * put_pages returns 0 if it unlinked the pin, and also if the free callback runs or has run. So the
 * callback gets a cookie, never a pointer. The core reads the page table only between pin and
 * release. put_pages without a token in another process does nothing
 * (unpin_by_owner).
 *
 * A revocable pin ends in one of three ways: unpin() puts the page table; release() frees the page
 * table in the callback; cleanup() frees the page table if neither was called. One function is not
 * enough: put_pages is forbidden in the callback, and the cookie must be valid during put_pages,
 * because the callback can run at the same time.
 *
 * Guide N: NVIDIA GPUDirect RDMA guide, section N. Guide 12.2, 12.3 and 12.4 describe this
 * interface.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pid.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <nv-p2p.h>
#include "../core/region/provider.h"

#define NV_PAGE_SIZE (64u << 10)
#define NV_LARGEST (1ull << 40)	/* bytes, more than a GPU has */
#define NV_LARGE (4ull << 30)	/* bytes; NVIDIA's driver allocates 1 MiB for them */

enum {
	NV_PUTS = 64,
};

/*
 * NVIDIA's driver frees a page table after the callback. A put that comes after the callback passes
 * a freed address. A new pin may have got this address, and the put would end the new pin, because
 * NVIDIA's driver compares only the addresses of the tables: for a put with a p2p_token those of the
 * pins with this token, otherwise those of all pins of the process. So pins of a process or with a
 * token wait while a put of the same process or with the same token runs. Pins do not exclude each
 * other. The callback takes none of these locks. Left open: a put without a token beside a pin
 * that another process makes with a token of the first process.
 */
static struct rw_semaphore nv_puts[NV_PUTS], nv_token_puts[NV_PUTS];

static struct rw_semaphore *nv_puts_here(void)
{
	return &nv_puts[task_tgid_nr(current) % NV_PUTS];
}

static struct rw_semaphore *nv_puts_of(u64 p2p_token)
{
	return &nv_token_puts[p2p_token % NV_PUTS];
}

static void nv_begin_get(u64 p2p_token)
{
	down_read(nv_puts_here());
	if (p2p_token)
		down_read(nv_puts_of(p2p_token));
}

static void nv_end_get(u64 p2p_token)
{
	if (p2p_token)
		up_read(nv_puts_of(p2p_token));
	up_read(nv_puts_here());
}

static void nv_begin_put(u64 p2p_token)
{
	down_write(nv_puts_here());
	if (p2p_token)
		down_write(nv_puts_of(p2p_token));
}

static void nv_end_put(u64 p2p_token)
{
	if (p2p_token)
		up_write(nv_puts_of(p2p_token));
	up_write(nv_puts_here());
}

/*
 * Before NVIDIA's driver checks the address, it allocates 16 bytes for each page of 64 KiB, and charges them to no
 * control group. So any user could exhaust the memory by long ranges. Therefore a range has at most NV_LARGEST bytes, and
 * this lock lets one pin of more than NV_LARGE bytes run at a time. Lock order: nv_large, nv_puts, nv_token_puts.
 */
static DEFINE_MUTEX(nv_large);

static int nv_enter(const struct pp_request *req, struct pp_why *why)
{
	if (req->length > NV_LARGEST) {
		why->reason = PEERPIN_REASON_VENDOR_REFUSED;
		return -EINVAL;
	}
	return req->length > NV_LARGE ? mutex_lock_killable(&nv_large) : 0;
}

static void nv_leave(const struct pp_request *req)
{
	if (req->length > NV_LARGE)
		mutex_unlock(&nv_large);
}

/*
 * struct nv_pin - the private part of a region of GPU memory
 * @released: release() has freed @table, so unpin() must not put @table
 * @put: unpin() has begun
 */
struct nv_pin {
	struct nvidia_p2p_page_table *table;
	bool released;
	bool put;
	u64 p2p_token;
	u32 va_space_token;
	u64 addr;
};

/* Translate errors of NVIDIA's driver */
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
	if (ret != -ENOTSUPP)
		return ret;
	why->reason = PEERPIN_REASON_NO_API;
	return -EOPNOTSUPP;
}

enum {
	NV_TABLE_WITHOUT_FLAGS = 0x00010002,	/* version of the drivers 515 to 575 */
};

/*
 * Version 2.0 only adds @flags. So this module, built with the header of a driver since 580, can read the tables of
 * an older driver. The reverse is not true: it would ignore @flags and map cacheable memory write-combined.
 */
static bool nv_knows(const struct nvidia_p2p_page_table *table)
{
	return NVIDIA_P2P_PAGE_TABLE_VERSION_COMPATIBLE(table) ||
	       table->version == NV_TABLE_WITHOUT_FLAGS;
}

/*
 * For tables without flags: before driver 580, memory of a coherent GPU is a NUMA node of the kernel. A BAR has no
 * struct pages, or those of p2pdma. pfn_valid() is also true for holes beside memory; their pages are reserved.
 */
static bool nv_is_system_memory(u64 phys)
{
	struct page *page;

	if (!pfn_valid(PHYS_PFN(phys)))
		return false;
	page = pfn_to_page(PHYS_PFN(phys));
	return !PageReserved(page) && !is_zone_device_page(page);
}

static bool nv_is_cacheable(const struct nvidia_p2p_page_table *table)
{
#ifdef NVIDIA_P2P_PAGE_TABLE_FLAGS_CPU_CACHEABLE	/* since 580 */
	if (table->version != NV_TABLE_WITHOUT_FLAGS)
		return table->flags & NVIDIA_P2P_PAGE_TABLE_FLAGS_CPU_CACHEABLE;
#endif
	return nv_is_system_memory(table->pages[0]->physical_address);
}

static int nv_look(void *priv, u64 length, u32 *caching)
{
	const struct nv_pin *p = priv;

	if (!nv_knows(p->table) ||
	    p->table->page_size != NVIDIA_P2P_PAGE_SIZE_64KB)
		return -EOPNOTSUPP;
	if ((u64)p->table->entries * NV_PAGE_SIZE != length)
		return -EIO;
	*caching = nv_is_cacheable(p->table) ? PEERPIN_CACHING_CACHED : PEERPIN_CACHING_COMBINED;
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
	struct nvidia_p2p_page_table *table = NULL;
	struct nv_pin *p = priv;
	int ret;

	p->p2p_token = req->p2p_token;
	p->va_space_token = req->va_space_token;
	p->addr = req->addr;
	ret = nv_enter(req, why);
	if (ret)
		return ret;
	nv_begin_get(req->p2p_token);
	/* on failure NVIDIA's driver may leave @table dangling: do not store it */
	ret = nvidia_p2p_get_pages(req->p2p_token, req->va_space_token,
				   req->addr, req->length, &table,
				   nv_free_callback, (void *)req->cookie);
	nv_end_get(req->p2p_token);
	nv_leave(req);
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
	struct nv_pin *p = priv;
	int ret = 0;

	nv_begin_put(p->p2p_token);
	p->put = true;
	if (!READ_ONCE(p->released))
		ret = nvidia_p2p_put_pages(p->p2p_token, p->va_space_token,
					   p->addr, p->table);
	nv_end_put(p->p2p_token);
	if (!ret)
		return;
	/* the memory is still pinned: keep the module, which has the callback */
	__module_get(THIS_MODULE);
	pr_err("peerpin_nv: put_pages failed (%d); GPU memory stays pinned until it is freed\n",
	       ret);
}

/*
 * If the callback ran before get_pages returned, release() was not called, because the page table
 * was not known yet. Drivers since 515 free the page table themselves; the call then does nothing.
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

/* NULL if the running driver is older than the header */
typeof(nvidia_p2p_get_pages_persistent)
	nvidia_p2p_get_pages_persistent __weak;
typeof(nvidia_p2p_put_pages_persistent)
	nvidia_p2p_put_pages_persistent __weak;

/* The module loader of arm64 can resolve a missing weak symbol only in data. */
static const void *nv_persistent_api = nvidia_p2p_get_pages_persistent;

static int nv_pin_lasting(struct nv_pin *p, const struct pp_request *req,
			  u32 flags, struct pp_why *why)
{
	struct nvidia_p2p_page_table *table = NULL;
	int ret;

	if (!READ_ONCE(nv_persistent_api) || req->p2p_token ||
	    req->va_space_token) {
		why->reason = PEERPIN_REASON_NO_API;
		return -EOPNOTSUPP;
	}
	p->addr = req->addr;
	ret = nv_enter(req, why);
	if (ret)
		return ret;
	ret = nvidia_p2p_get_pages_persistent(req->addr, req->length, &table,
					      flags);
	nv_leave(req);
	if (ret)
		return nv_explain(ret, req, why);
	p->table = table;
	return 0;
}

static int nv_pin_persistent(void *priv, const struct pp_request *req,
			     struct pp_why *why)
{
	return nv_pin_lasting(priv, req, 0, why);
}

static int nv_pin_pcie(void *priv, const struct pp_request *req,
		       struct pp_why *why)
{
#ifdef NVIDIA_P2P_FLAGS_FORCE_BAR1_MAPPING	/* since 570.86 */
	return nv_pin_lasting(priv, req, NVIDIA_P2P_FLAGS_FORCE_BAR1_MAPPING,
			      why);
#else
	why->reason = PEERPIN_REASON_NO_API;
	return -EOPNOTSUPP;
#endif
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

#define nv_pin_pcie nv_pin_persistent

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

/* memory of coherent GPUs, through BAR1 */
static const struct pp_provider nv_pcie_provider = {
	.owner = THIS_MODULE,
	.name = "nv-pcie",
	.id = PEERPIN_PROVIDER_NV,
	.flags = PEERPIN_PIN_PERSISTENT | PEERPIN_PIN_PCIE,
	.page_size = NV_PAGE_SIZE,
	.lasting = true,
	.priv_size = sizeof(struct nv_pin),
	.pin = nv_pin_pcie,
	.look = nv_look,
	.extents = nv_extents,
	.release = nv_unpin_persistent,
	.unpin = nv_unpin_persistent,
};

static int __init nv_init(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < NV_PUTS; i++) {
		init_rwsem(&nv_puts[i]);
		init_rwsem(&nv_token_puts[i]);
	}
	ret = pp_provider_register(&nv_provider);
	if (ret)
		return ret;
	ret = pp_provider_register(&nv_persistent_provider);
	if (ret)
		goto err_revocable;
	ret = pp_provider_register(&nv_pcie_provider);
	if (ret)
		goto err_persistent;
	return 0;

err_persistent:
	pp_provider_unregister(&nv_persistent_provider);
err_revocable:
	pp_provider_unregister(&nv_provider);
	return ret;
}

static void __exit nv_exit(void)
{
	pp_provider_unregister(&nv_pcie_provider);
	pp_provider_unregister(&nv_persistent_provider);
	pp_provider_unregister(&nv_provider);
}

module_init(nv_init);
module_exit(nv_exit);
MODULE_DESCRIPTION("peerpin provider: NVIDIA GPU memory");
MODULE_LICENSE("GPL");

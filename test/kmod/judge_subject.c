// SPDX-License-Identifier: GPL-2.0
/*
 * A module for t_judge. It allocates in every way that judge.ko watches, and frees all memory
 * except the kind named by @keep.
 */
#include <linux/dma-mapping.h>
#include <linux/idr.h>
#include <linux/jiffies.h>
#include <linux/kmemleak.h>
#include <linux/llist.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <linux/vmalloc.h>
#include <linux/xarray.h>
#include <peerpin.h>

static char *keep = "";
module_param(keep, charp, 0444);
MODULE_PARM_DESC(keep, "kind of memory that is not freed: kmalloc, vmalloc, dma or peer");

static bool late_attach;
module_param(late_attach, bool, 0444);
MODULE_PARM_DESC(late_attach, "attach to an unregistered peer");

static unsigned int many;
module_param(many, uint, 0444);
MODULE_PARM_DESC(many, "number of further allocations, freed at the end");

static unsigned int storm_ms;
module_param(storm_ms, uint, 0444);
MODULE_PARM_DESC(storm_ms, "time to allocate memory that a timer interrupt frees");

static bool storm_allocates;
module_param(storm_allocates, bool, 0444);
MODULE_PARM_DESC(storm_allocates, "the timer interrupt allocates, too");

static unsigned long gpu_address;
module_param(gpu_address, ulong, 0444);
MODULE_PARM_DESC(gpu_address, "GPU memory to pin, 2 MiB, instead of the stack");

enum { SIZE = 100, GPU_SIZE = 2 << 20, BIG = 3 * PAGE_SIZE, BULK = 8, UNSET = 77 };

struct late {
	int first;
	struct rcu_head rcu;
};

struct later {
	struct rcu_head rcu;
	int last;
};

static struct platform_device *device;
static size_t size = SIZE, big = BIG, nothing;	/* not const: for a constant size the compiler calls other allocators */

static bool kept(const char *what)
{
	return !strcmp(keep, what);
}

static int by_kmalloc(void)
{
	void *of_size = kmalloc(size, GFP_KERNEL), *constant = kzalloc(SIZE, GFP_KERNEL);
	char *text = kstrdup("text", GFP_KERNEL);
	void *of_nothing = kmalloc(READ_ONCE(nothing), GFP_KERNEL);
	int err = of_size && constant && text && of_nothing ? 0 : -ENOMEM;

	kmemleak_not_leak(of_size);	/* a leak on purpose: the judge must find it, not kmemleak */
	if (!kept("kmalloc"))
		kfree(of_size);
	kfree(constant);
	kfree(text);
	kfree(of_nothing);
	return err;
}

static int by_bulk(void)
{
	void *all[BULK];
	int n;

	for (n = 0; n < BULK; n++) {
		all[n] = kmalloc(size, GFP_KERNEL);
		if (!all[n])
			break;
	}
	kfree_bulk(n, all);
	return n == BULK ? 0 : -ENOMEM;
}

static int by_cache(void)
{
	struct kmem_cache *cache = kmem_cache_create("judge_subject", SIZE, 0, 0, NULL);
	void *one, *of_node;
	int err;

	if (!cache)
		return -ENOMEM;
	one = kmem_cache_alloc(cache, GFP_KERNEL);
	of_node = kmem_cache_alloc_node(cache, GFP_KERNEL, NUMA_NO_NODE);
	err = one && of_node ? 0 : -ENOMEM;
	if (one)
		kmem_cache_free(cache, one);
	if (of_node)
		kmem_cache_free_bulk(cache, 1, &of_node);
	kmem_cache_destroy(cache);
	return err;
}

static int by_vmalloc(void)
{
	void *plain = vmalloc(big), *either = kvmalloc(4 << 20, GFP_KERNEL);
	int err = plain && either ? 0 : -ENOMEM;

	kmemleak_not_leak(plain);
	if (!kept("vmalloc"))
		vfree(plain);
	kvfree(either);
	return err;
}

static int by_pages(void)
{
	unsigned long address = __get_free_pages(GFP_KERNEL, 1);
	struct page *page = alloc_pages(GFP_KERNEL, 0);
	int err = address && page ? 0 : -ENOMEM;

	if (address)
		free_pages(address, 1);
	if (page)
		__free_pages(page, 0);
	return err;
}

/* Free as struct pages: put_page() only drops a reference, perhaps not the last reference. */
static int by_zeroed_pages(void)
{
	unsigned long address = get_zeroed_page(GFP_KERNEL), another = get_zeroed_page(GFP_KERNEL);
	int err = address && another ? 0 : -ENOMEM;

	if (address)
		__free_page(virt_to_page(address));
	if (another)
		put_page(virt_to_page(another));
	return err;
}

/* __GFP_NOFAIL: the result is not checked. */
static int by_no_failure(void)
{
	char *sure = kmalloc(size, GFP_KERNEL | __GFP_NOFAIL);

	*sure = 0;
	kfree(sure);
	return 0;
}

/* @is: the failed call left its results as the real function does. If not, the load fails with another error. */
static int failed_with(bool is)
{
	return is ? -ENOMEM : -EBADMSG;
}

static int by_dma(void)
{
	static const struct sg_table zero;
	dma_addr_t handle = UNSET;
	struct sg_table table;
	void *coherent = dma_alloc_coherent(&device->dev, BIG, &handle, GFP_KERNEL);
	int err;

	if (!coherent)
		return failed_with(handle == UNSET);
	err = sg_alloc_table(&table, 4, GFP_KERNEL);
	if (err)
		err = failed_with(!memcmp(&table, &zero, sizeof(table)));
	else
		sg_free_table(&table);
	if (err || !kept("dma"))
		dma_free_coherent(&device->dev, BIG, coherent, handle);
	return err;
}

static int by_rcu(void)
{
	struct late *late = kmalloc(sizeof(*late), GFP_KERNEL);
	struct later *later = kmalloc(sizeof(*later), GFP_KERNEL);
	int err = late && later ? 0 : -ENOMEM;

	if (late)
		kfree_rcu(late, rcu);
	if (later)
		kfree_rcu(later, rcu);
	return err;
}

static int by_device(void)
{
	dma_addr_t handle = UNSET;

	if (!devm_kmalloc(&device->dev, size, GFP_KERNEL))
		return -ENOMEM;
	return dmam_alloc_coherent(&device->dev, BIG, &handle, GFP_KERNEL) ? 0 : failed_with(handle == UNSET);
}

/* IDA, IDR and xarray, which allocate memory for the numbers */
static int by_number(void)
{
	static DEFINE_IDA(ida);
	static DEFINE_IDR(idr);
	static DEFINE_XARRAY_ALLOC(xa);
	int of_ida = ida_alloc(&ida, GFP_KERNEL);
	int of_idr = idr_alloc(&idr, &ida, 0, 0, GFP_KERNEL);
	u32 id, next = 1;
	int err = xa_alloc(&xa, &id, &ida, xa_limit_31b, GFP_KERNEL);

	if (!err && xa_alloc_cyclic(&xa, &id, &ida, xa_limit_31b, &next, GFP_KERNEL) < 0)
		err = failed_with(next == 1);

	ida_destroy(&ida);
	idr_destroy(&idr);
	xa_destroy(&xa);
	return err ?: min(min(of_ida, of_idr), 0);
}

static int attach(struct peerpin_peer *peer)
{
	const struct peerpin_range stack = { .addr = current->mm->start_stack & PAGE_MASK, .length = PAGE_SIZE };
	const struct peerpin_range gpu = { .addr = gpu_address, .length = GPU_SIZE };
	u32 reason = UNSET;
	struct peerpin_region *region = peerpin_region_pin(gpu_address ? &gpu : &stack, &reason);
	struct peerpin_attach *attached;

	if (PTR_ERR_OR_ZERO(region) == -ENOMEM)
		return failed_with(reason != UNSET);
	if (IS_ERR(region))
		return PTR_ERR(region);
	attached = peerpin_attach(peer, region);
	if (!IS_ERR(attached))
		peerpin_attach_put(attached);
	peerpin_region_unpin(region);
	return PTR_ERR_OR_ZERO(attached);
}

static int by_peerpin(void)
{
	struct peerpin_peer *peer = peerpin_peer_register(&device->dev, NULL, NULL);
	int err;

	if (IS_ERR(peer))
		return PTR_ERR(peer);
	kmemleak_not_leak(peer);
	err = attach(peer);
	if (!err && kept("peer"))
		return 0;
	peerpin_peer_unregister(peer);
	if (late_attach)
		attach(peer);
	return err;
}

/* ---- memory that an interrupt frees ---------------------------------------------- */

enum { STORM_AT_ONCE = 1000 };

static LLIST_HEAD(storm);
static atomic_t in_storm;

static void free_storm(void)
{
	struct llist_node *node, *next;

	llist_for_each_safe(node, next, llist_del_all(&storm)) {
		kfree(node);
		atomic_dec(&in_storm);
	}
}

static void storm_timer(struct timer_list *timer)
{
	free_storm();
	if (storm_allocates)
		kfree(kmalloc(size, GFP_ATOMIC));
	mod_timer(timer, jiffies + 1);
}

/* Allocate more than the limit, even on a slow machine. So the interrupt must free some. */
static void allocate_storm(void)
{
	unsigned long end = jiffies + msecs_to_jiffies(storm_ms);
	unsigned int n = 0;
	struct llist_node *node;

	while (n <= STORM_AT_ONCE || time_before(jiffies, end)) {
		cond_resched();
		if (atomic_read(&in_storm) == STORM_AT_ONCE)
			continue;
		node = kmalloc(size, GFP_KERNEL);
		if (!node)
			break;
		atomic_inc(&in_storm);
		llist_add(node, &storm);
		n++;
	}
}

static void by_interrupts(void)
{
	static DEFINE_TIMER(timer, storm_timer);

	mod_timer(&timer, jiffies + 1);
	allocate_storm();
	timer_shutdown_sync(&timer);
	free_storm();
}

static int (*const ways[])(void) = {
	by_kmalloc, by_bulk, by_cache, by_vmalloc, by_pages, by_zeroed_pages, by_no_failure, by_dma, by_rcu, by_device,
	by_number, by_peerpin,
};

static int allocate(void)
{
	void **all = NULL, **next;
	unsigned int i;
	int err = 0;

	if (storm_ms)
		by_interrupts();
	for (i = 0; i < many; i++) {
		next = kmalloc(size, GFP_KERNEL);
		if (!next)
			break;
		*next = all;
		all = next;
	}
	for (i = 0; !err && i < ARRAY_SIZE(ways); i++)
		err = ways[i]();
	while (all) {
		next = *all;
		kfree(all);
		all = next;
	}
	return err;
}

static void subject_exit(void)
{
	platform_device_unregister(device);
}

static int __init subject_init(void)
{
	int err;

	device = platform_device_register_simple("judge_subject", PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(device))
		return PTR_ERR(device);
	err = dma_coerce_mask_and_coherent(&device->dev, DMA_BIT_MASK(64));
	if (!err)
		err = allocate();
	if (err)
		subject_exit();
	return err;
}

module_init(subject_init);
module_exit(subject_exit);
MODULE_DESCRIPTION("peerpin test: allocates in every way that judge.ko watches");
MODULE_LICENSE("GPL");

// SPDX-License-Identifier: GPL-2.0
/*
 * Clients of an InfiniBand core that has ib_register_peer_memory_client(). With these clients,
 * ibv_reg_mr() takes GPU memory. doc/ibpeer.md is the guide for users.
 *
 * Programs look for a client "nv_mem" to detect this feature, so the client that the core asks
 * first has this name. There are two clients:
 * - revocable: invalidates registrations when memory is freed. Some drivers of InfiniBand devices
 *   do not support that.
 * - lasting: keeps memory pinned until it is unregistered. GPU drivers before 525 do not support
 *   that.
 */
#include <linux/module.h>
#include <linux/scatterlist.h>
#include "peer_mem.h"
#include "reg.h"

static bool persistent = true;
module_param(persistent, bool, 0444);
MODULE_PARM_DESC(persistent,
		 "Y: registered GPU memory stays until it is unregistered, even if freed; N: freeing it ends the registration");

static struct ibpeer_core lasting_core, revocable_core;

/*
 * True once both clients are registered. The InfiniBand core can call acquire before
 * ib_register_peer_memory_client() has returned the handle, which invalidate needs.
 */
static bool ready;

static int client_acquire(const struct ibpeer_core *core, unsigned long addr,
			  size_t size, void **context)
{
	struct ibpeer_reg *reg;

	/* pairs with clients_register() */
	if (!smp_load_acquire(&ready) || !try_module_get(THIS_MODULE))
		return 0;
	reg = ibpeer_reg_new(core, addr, size);
	if (!IS_ERR(reg)) {
		*context = reg;
		return 1;
	}
	module_put(THIS_MODULE);
	return 0;
}

static int lasting_acquire(unsigned long addr, size_t size, void *unused,
			   char *unused_name, void **context)
{
	return client_acquire(&lasting_core, addr, size, context);
}

static int revocable_acquire(unsigned long addr, size_t size, void *unused,
			     char *unused_name, void **context)
{
	return client_acquire(&revocable_core, addr, size, context);
}

static int client_get_pages(unsigned long addr, size_t size, int write,
			    int force, struct sg_table *sgt, void *context,
			    u64 core_context)
{
	return ibpeer_reg_name(context, core_context);
}

static int client_dma_map(struct sg_table *sgt, void *context,
			  struct device *dev, int dmasync, int *nmap)
{
	int ret = ibpeer_reg_map(context, dev, sgt);

	if (!ret)
		*nmap = sgt->nents;
	return ret;
}

static int client_dma_unmap(struct sg_table *sgt, void *context,
			    struct device *dev)
{
	ibpeer_reg_end(context);
	return 0;
}

/* client_release() unpins: here the InfiniBand core may hold a lock that invalidate takes. */
static void client_put_pages(struct sg_table *sgt, void *context)
{
}

/* reg_cut() has cut the list to the pages of the range: the core need not cut more. */
static unsigned long client_get_page_size(void *context)
{
	return PAGE_SIZE;
}

/* After module_put(), the core's count of registrations keeps the module until we return. */
static void client_release(void *context)
{
	ibpeer_reg_release(context);
	module_put(THIS_MODULE);
}

#define CLIENT_CALLS \
	.version = "1", \
	.get_pages = client_get_pages, \
	.dma_map = client_dma_map, \
	.dma_unmap = client_dma_unmap, \
	.put_pages = client_put_pages, \
	.get_page_size = client_get_page_size, \
	.release = client_release

static struct peer_memory_client lasting = {
	.name = "nv_mem_nc",
	.acquire = lasting_acquire,
	CLIENT_CALLS,
};

static struct peer_memory_client revocable = {
	.name = "nv_mem_inv",
	.acquire = revocable_acquire,
	CLIENT_CALLS,
};

static int client_register(struct ibpeer_core *core,
			   const struct peer_memory_client *client,
			   bool invalidated)
{
	core->handle = ib_register_peer_memory_client(client,
						      invalidated ? &core->invalidate : NULL);
	if (core->handle)
		return 0;
	pr_err("peerpin_ibpeer: the InfiniBand core does not take a client \"%s\"; if another module has this name, type: rmmod nvidia-peermem nv_peer_mem\n",
	       client->name);
	return -EBUSY;
}

static int lasting_register(void)
{
	return client_register(&lasting_core, &lasting, false);
}

static int revocable_register(void)
{
	return client_register(&revocable_core, &revocable, true);
}

static void clients_unregister(void)
{
	if (lasting_core.handle)
		ib_unregister_peer_memory_client(lasting_core.handle);
	if (revocable_core.handle)
		ib_unregister_peer_memory_client(revocable_core.handle);
}

/* The InfiniBand core first asks the client that was registered first. */
static int clients_register(void)
{
	int ret;

	strscpy(persistent ? lasting.name : revocable.name, "nv_mem",
		IB_PEER_MEMORY_NAME_MAX);
	ret = persistent ? lasting_register() : revocable_register();
	if (!ret)
		ret = persistent ? revocable_register() : lasting_register();
	if (ret)
		clients_unregister();
	else
		smp_store_release(&ready, true);	/* pairs with client_acquire() */
	return ret;
}

static int __init client_init(void)
{
	int ret = ibpeer_regs_init();

	if (ret)
		return ret;
	ret = clients_register();
	if (ret)
		ibpeer_regs_exit();
	return ret;
}

static void __exit client_exit(void)
{
	ibpeer_regs_flush();
	clients_unregister();
	ibpeer_regs_exit();
}

module_init(client_init);
module_exit(client_exit);
MODULE_DESCRIPTION("peerpin for InfiniBand: GPU memory for ibv_reg_mr()");
MODULE_LICENSE("GPL");

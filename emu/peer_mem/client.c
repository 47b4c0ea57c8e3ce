// SPDX-License-Identifier: GPL-2.0
#include <linux/export.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "client.h"
#include "umem.h"

static DEFINE_MUTEX(clients_lock);
static LIST_HEAD(clients);

static int client_invalidate(void *handle, u64 core_context)
{
	struct shim_client *c = handle;
	struct shim_umem *u;

	xa_lock(&c->umems);
	u = xa_load(&c->umems, core_context);
	if (u)
		shim_umem_get(u);
	xa_unlock(&c->umems);
	if (u) {
		shim_umem_invalidate(u);
		shim_umem_put(u);
	}
	return 0;
}

static bool client_is_complete(const struct peer_memory_client *calls)
{
	return calls->acquire && calls->get_pages && calls->put_pages &&
	       calls->dma_map && calls->dma_unmap;
}

static bool client_is_new_locked(const struct peer_memory_client *calls)
{
	struct shim_client *c;

	lockdep_assert_held(&clients_lock);
	list_for_each_entry(c, &clients, in_clients)
		if (!strcmp(c->calls->name, calls->name))
			return false;
	return true;
}

static bool client_list(struct shim_client *c)
{
	bool is_new;

	mutex_lock(&clients_lock);
	is_new = client_is_new_locked(c->calls);
	if (is_new)
		list_add_tail(&c->in_clients, &clients);
	mutex_unlock(&clients_lock);
	return is_new;
}

void *ib_register_peer_memory_client(const struct peer_memory_client *calls,
				     invalidate_peer_memory *invalidate)
{
	struct shim_client *c;

	if (!client_is_complete(calls))
		return NULL;
	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return NULL;
	c->calls = calls;
	c->invalidates = invalidate;
	refcount_set(&c->users, 1);
	init_completion(&c->unused);
	xa_init_flags(&c->umems, XA_FLAGS_ALLOC);
	if (invalidate)
		*invalidate = client_invalidate;
	if (client_list(c))
		return c;
	kfree(c);
	return NULL;
}
EXPORT_SYMBOL(ib_register_peer_memory_client);

static void client_leave(struct shim_client *c)
{
	if (refcount_dec_and_test(&c->users))
		complete(&c->unused);
}

void ib_unregister_peer_memory_client(void *handle)
{
	struct shim_client *c = handle;

	mutex_lock(&clients_lock);
	list_del(&c->in_clients);
	mutex_unlock(&clients_lock);
	client_leave(c);
	wait_for_completion(&c->unused);
	xa_destroy(&c->umems);
	kfree(c);
}
EXPORT_SYMBOL(ib_unregister_peer_memory_client);

static bool client_takes(struct shim_client *c, unsigned long addr, size_t size,
			 bool may_invalidate, void **context)
{
	if (c->invalidates && !may_invalidate)
		return false;
	return c->calls->acquire(addr, size, NULL, NULL, context) > 0;
}

struct shim_client *shim_client_acquire(unsigned long addr, size_t size,
					bool may_invalidate, void **context)
{
	struct shim_client *c;

	mutex_lock(&clients_lock);
	list_for_each_entry(c, &clients, in_clients) {
		if (client_takes(c, addr, size, may_invalidate, context)) {
			refcount_inc(&c->users);
			goto out;
		}
	}
	c = NULL;
out:
	mutex_unlock(&clients_lock);
	return c;
}

void shim_client_release(struct shim_client *c, void *context)
{
	if (c->calls->release)
		c->calls->release(context);
	client_leave(c);
}

bool shim_client_unmaps(const struct shim_client *c)
{
	const struct peer_memory_client_ex *ex =
		container_of(c->calls, struct peer_memory_client_ex, client);

	return c->calls->version[IB_PEER_MEMORY_VER_MAX - 1] &&
	       ex->ex_size >= offsetofend(struct peer_memory_client_ex, flags) &&
	       ex->flags & PEER_MEM_INVALIDATE_UNMAPS;
}

int shim_client_name(struct shim_client *c, struct shim_umem *u, u32 *id)
{
	return xa_alloc_cyclic(&c->umems, id, u, xa_limit_31b, &c->next,
			       GFP_KERNEL);
}

void shim_client_forget(struct shim_client *c, u32 id)
{
	xa_erase(&c->umems, id);
}

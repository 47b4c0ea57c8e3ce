/* SPDX-License-Identifier: GPL-2.0 */
/* Clients of the shim: who registered, and what each is asked. */
#ifndef IB_PEER_CLIENT_H
#define IB_PEER_CLIENT_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/xarray.h>
#include <peer_mem.h>

struct shim_umem;

/**
 * struct shim_client - one that registered
 * @users: one for being registered, one for each umem
 * @umems: of which some may be invalidated, by number
 */
struct shim_client {
	struct list_head in_clients;
	const struct peer_memory_client *calls;
	bool invalidates;
	refcount_t users;
	struct completion unused;
	struct xarray umems;
	u32 next;
};

/* who takes the range first; a user of it, and its context. NULL: nobody */
struct shim_client *shim_client_acquire(unsigned long addr, size_t size,
					bool may_invalidate, void **context);
void shim_client_release(struct shim_client *c, void *context);

/* does it unmap by itself what it invalidates? */
bool shim_client_unmaps(const struct shim_client *c);

/* names @u for invalidations; what is returned on failure is negative */
int shim_client_name(struct shim_client *c, struct shim_umem *u, u32 *id);
void shim_client_forget(struct shim_client *c, u32 id);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* Registered clients of the shim, and calls to them. */
#ifndef IB_PEER_CLIENT_H
#define IB_PEER_CLIENT_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/xarray.h>
#include <peer_mem.h>

struct shim_umem;

/**
 * struct shim_client - a registered client
 * @users: references: one by the registration, one by each umem
 * @umems: umems that may be invalidated, by id
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

/*
 * Returns the first client that takes the range, with a reference, and its *@context. NULL: no
 * client takes the range.
 */
struct shim_client *shim_client_acquire(unsigned long addr, size_t size,
					bool may_invalidate, void **context);
void shim_client_release(struct shim_client *c, void *context);

/* Whether the client itself unmaps in invalidate (PEER_MEM_INVALIDATE_UNMAPS) */
bool shim_client_unmaps(const struct shim_client *c);

/* Allocates the id of @u for invalidations. Returns a negative errno on failure. */
int shim_client_name(struct shim_client *c, struct shim_umem *u, u32 *id);
void shim_client_forget(struct shim_client *c, u32 id);

#endif

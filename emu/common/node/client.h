/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A client: one open file of the control node, and what it has by number.
 *
 * It belongs to the process that opened the file (not to its number, which can
 * come back), as long as that runs the same program: after exec() it may be another
 * user's. Its blocks are found by that process, its objects by this file.
 */
#ifndef _EMUGPU_CLIENT_H
#define _EMUGPU_CLIENT_H

#include <linux/types.h>
#include <linux/xarray.h>

struct emugpu_object;
struct mm_struct;
struct pid;

struct emugpu_client {
	struct pid *owner;
	struct mm_struct *mm;	/* of the program; not its contents */
	u64 number;	/* that no other ever has */
	u32 nr_blocks;	/* API lock */
	struct xarray objects;
};

/* Made by and for the calling process; NULL: no memory. */
struct emugpu_client *emugpu_client_new(void);

/* It belongs to the calling process. */
bool emugpu_client_is_mine(const struct emugpu_client *client);

/* Revokes what is pinned of its blocks. Nothing else may use it any more. */
void emugpu_client_delete(struct emugpu_client *client);

/* Takes over the caller's reference; -ENOMEM leaves it. */
int emugpu_client_add(struct emugpu_client *client, struct emugpu_object *object, u32 *id);
int emugpu_client_drop(struct emugpu_client *client, u32 id);

/* Object @id with a reference, or NULL */
struct emugpu_object *emugpu_client_get(struct emugpu_client *client, u32 id);

/* How many there are */
u32 emugpu_clients(void);

#endif

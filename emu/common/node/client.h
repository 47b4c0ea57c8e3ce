/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A client: one open file of the control node, and its objects by number.
 *
 * The owner is the process that opened the file, by struct pid because pid numbers
 * are reused. exec() ends the ownership: the new program may run as another user.
 * Blocks are found by the owner process, objects by the file.
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
	struct mm_struct *mm;	/* of the program, by mmgrab(); compared only */
	u64 number;	/* unique, never reused */
	u32 nr_blocks;	/* API lock */
	struct xarray objects;
};

/* The calling process becomes the owner; NULL: no memory. */
struct emugpu_client *emugpu_client_new(void);

/* Whether the calling process is the owner */
bool emugpu_client_is_mine(const struct emugpu_client *client);

/* Frees its blocks, which revokes their pins. The caller has the last use of @client. */
void emugpu_client_delete(struct emugpu_client *client);

/* Takes over the caller's reference on success; -ENOMEM leaves it to the caller. */
int emugpu_client_add(struct emugpu_client *client, struct emugpu_object *object, u32 *id);
int emugpu_client_drop(struct emugpu_client *client, u32 id);

/* Object @id with a reference, or NULL if not found */
struct emugpu_object *emugpu_client_get(struct emugpu_client *client, u32 id);

/* Number of clients */
u32 emugpu_clients(void);

#endif

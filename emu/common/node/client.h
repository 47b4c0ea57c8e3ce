/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A client: one open file of the control node. Each object of the client has a number.
 *
 * The owner is the process that opened the file, as a struct pid, because pid numbers are reused.
 * exec() ends the ownership: the new program may run as another user. A look-up finds blocks by the
 * owner process and objects by the file.
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
	struct mm_struct *mm;	/* address space of the owner's program, referenced by mmgrab(); compared only */
	u64 number;	/* unique, never reused */
	u32 nr_blocks;	/* number of blocks; API lock */
	struct xarray objects;
};

/* The calling process becomes the owner. Returns NULL if out of memory, or in a kernel thread. */
struct emugpu_client *emugpu_client_new(void);

/* Whether the calling process is the owner */
bool emugpu_client_is_mine(const struct emugpu_client *client);

/* Frees the client's blocks, which revokes their pins. No other thread uses @client any more. */
void emugpu_client_delete(struct emugpu_client *client);

/* Adds @object and sets *@id. On success takes over the caller's reference; on -ENOMEM does not. */
int emugpu_client_add(struct emugpu_client *client, struct emugpu_object *object, u32 *id);
int emugpu_client_drop(struct emugpu_client *client, u32 id);

/* Object @id with a reference, or NULL if not found */
struct emugpu_object *emugpu_client_get(struct emugpu_client *client, u32 id);

/* Number of clients */
u32 emugpu_clients(void);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* An open file of /dev/peerpin: its owner and its regions by id. */
#ifndef _PEERPIN_FILE_H
#define _PEERPIN_FILE_H

#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include "../region/account.h"
#include "../region/epoch.h"
#include "../region/region.h"
#include "../region/table.h"

/**
 * struct pp_file - an open file of /dev/peerpin
 * @account: account of the process that opened the file
 * @mapping: address space of the CPU mappings of this file. Each file has its own address
 *	space, because emptying mappings delays mmap() and fork() in the same address space
 * @regions: table of regions by id; an id is taken from the pin to the close. A taken id
 *	without a region belongs to a pin or unpin in progress, or has used up its epochs
 * @watches: table of struct pp_watch by id, like @regions
 * @space: address space of the watches; NULL before the first watch, then never changed
 * @emptied: the owner has exited, and all regions and watches have ended; no more begin
 */
struct pp_file {
	struct pp_account *account;
	struct address_space mapping;
	struct pp_table regions;
	struct pp_table watches;
	struct pp_epochs epochs;
	struct pp_space *space;
	bool emptied;
};

extern const struct file_operations pp_fops;

/**
 * pp_file_pin() - make a region and reserve an id for it
 * @request: the user's range, not rounded
 * @provider: enum peerpin_provider
 * @flags: enum peerpin_pin_flags
 * @id: set on success
 *
 * Return: the region, which no look-up finds before pp_file_publish(); or ERR_PTR with
 * @why filled in.
 */
struct peerpin_region *pp_file_pin(struct pp_file *f,
				   const struct pp_request *request,
				   u32 provider, u32 flags, u32 *id,
				   struct pp_why *why);

/* put @r into @regions: from here on any thread may find @r by its id, and unpin @r */
void pp_file_publish(struct pp_file *f, u32 id, struct peerpin_region *r);

/*
 * End a region that is not in @regions (not yet, or taken out), and free its id. This function and the next
 * wait as pp_region_close(). Context: process, no locks, not even mmap_lock.
 */
void pp_file_drop(struct pp_file *f, u32 id, struct peerpin_region *r);

/* end a region and free its id; -ENOENT: no such region */
int pp_file_unpin(struct pp_file *f, u32 id);

/**
 * pp_file_take_id() - take an id and find its word in the revocation page
 * @t: @regions or @watches of @f
 * @id, @word: set on success
 *
 * Return: 0; -EDQUOT, -ENOMEM with @why filled in.
 */
int pp_file_take_id(struct pp_file *f, struct pp_table *t, u32 *id, u32 **word, struct pp_why *why);

/* free an id; an id that has used up its epochs stays taken, so that its epochs do not repeat */
void pp_file_give_id(struct pp_table *t, u32 id, const u32 *word);

/* the region with this id, with a reference, or NULL */
struct peerpin_region *pp_file_region(struct pp_file *f, u32 id);

/* -EACCES unless current belongs to the process that opened the file */
static inline int pp_file_check_owner(const struct pp_file *f)
{
	return task_tgid(current) == pp_account_owner(f->account) ? 0 : -EACCES;
}

/* the ioctl handler of pp_fops, in chardev.c */
long pp_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* An open file of /dev/peerpin: its owner, its regions by id. */
#ifndef _PEERPIN_FILE_H
#define _PEERPIN_FILE_H

#include <linux/fs.h>
#include <linux/xarray.h>
#include "epoch.h"
#include "region.h"

/**
 * struct pp_file - see above
 * @owner: the process that opened it
 * @regions: id to struct pp_region, from pp_region_pin() to pp_region_close().
 *	A NULL entry is an id reserved by a pin or unpin in progress, or retired.
 */
struct pp_file {
	struct pid *owner;
	struct xarray regions;
	struct pp_epochs epochs;
};

extern const struct file_operations pp_fops;

/**
 * pp_file_pin() - make a region and give it an id
 * @request: the user's range, not rounded
 * @provider: enum peerpin_provider
 * @id: set on success
 *
 * Return: the region with a reference for the caller, or ERR_PTR and @why.
 */
struct pp_region *pp_file_pin(struct pp_file *f,
			      const struct pp_request *request, u32 provider,
			      u32 *id, struct pp_why *why);

/* end a region and free its id; -ENOENT */
int pp_file_unpin(struct pp_file *f, u32 id);

/* a referenced region or NULL */
struct pp_region *pp_file_region(struct pp_file *f, u32 id);

/* -EACCES unless current is of the process that opened it */
int pp_file_check_owner(const struct pp_file *f);

/* one command; chardev.c's part of pp_fops */
long pp_ioctl(struct file *filp, unsigned int cmd, unsigned long arg);

#endif

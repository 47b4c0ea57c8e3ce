/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _DIRECT_PIN_H
#define _DIRECT_PIN_H

#include <linux/fs.h>
#include <linux/kref.h>
#include <linux/types.h>
#include <nv-p2p.h>
#include "direct.h"

struct direct;

#define DIRECT_PAGE_SIZE (64u << 10)

/**
 * struct direct_pin - pinned GPU memory; the xarray's lock protects all fields below the line
 * @ref: references of the xarray and of each view
 * @offset: offset of the @size requested bytes in the pinned range
 * @owner: file that may use the pin; NULL: before the end of pinning, or after its release
 * @table: the page table, while the memory is pinned; only users read it
 * @map: the DMA mapping, while the memory is mapped for the chip; only users read it
 * @users: number of threads that read @table, @map or the memory; the callback waits for them
 * @revoked: the callback has begun
 * @calling: the callback has begun and has not ended
 * @orphan: the file of the pin is closed; the callback frees the pin
 */
struct direct_pin {
	struct kref ref;
	struct direct *direct;
	struct address_space *views;
	struct pid *process;
	u32 handle;
	u32 flags;
	u64 va;
	u64 length;
	u64 offset;
	u64 size;
	u64 p2p_token;
	u32 va_space;
	/* ---- */
	struct file *owner;
	struct nvidia_p2p_page_table *table;
	struct nvidia_p2p_dma_mapping *map;
	unsigned int users;
	bool revoked;
	bool calling;
	bool orphan;
};

int direct_pin(struct direct *d, struct file *filp, struct direct_pin_args *args);
int direct_unpin(struct direct *d, struct file *filp, u32 handle);

/* Unpin all at the last close of a file, by any process. */
void direct_unpin_all(struct direct *d, struct file *filp);

/* Undo the DMA mappings because the chip is removed. No copy runs, and the caller holds @pinning. */
void direct_unmap_all(struct direct *d);

/* Begin a use: the memory stays until unuse. ERR_PTR(-ENOENT): @filp has no such pin; ERR_PTR(-ESTALE): freed */
struct direct_pin *direct_pin_use(struct file *filp, u32 handle);
bool direct_pin_hold(struct direct_pin *pin, const struct file *filp);
void direct_pin_unuse(struct direct_pin *pin);
void direct_pin_release(struct kref *ref);

/* The caller must use the pin. */
bool direct_pin_stale(const struct direct_pin *pin);
bool direct_pin_has(const struct direct_pin *pin, u64 offset, u64 length);
u32 direct_pin_bus(const struct direct_pin *pin, u64 offset, u32 *left);

#endif

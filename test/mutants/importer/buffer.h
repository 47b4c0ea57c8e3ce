/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IMPORTER_BUFFER_H
#define _IMPORTER_BUFFER_H

#include <linux/kref.h>
#include <linux/list.h>
#include <linux/types.h>

struct chip;
struct dma_buf;
struct dma_buf_attachment;
struct sg_table;

/**
 * struct buffer - an imported dma-buf
 * @ref: one reference for the handle, and one for each running copy
 * @in_chip: entry in the chip's list; chip's lock
 * @attach: NULL: detached, because the chip was removed; chip's lock
 * @sgt: NULL: not mapped; reservation lock
 * @valid: the engine may use @sgt; engine's lock, and changed under the reservation lock
 */
struct buffer {
	struct kref ref;
	struct list_head in_chip;
	struct chip *chip;
	struct dma_buf *dmabuf;
	struct dma_buf_attachment *attach;
	struct sg_table *sgt;
	bool valid;
};

struct buffer *buffer_import(struct chip *chip, int fd);
void buffer_put(struct buffer *b);

/* Map the buffer if it is not mapped. Return: 0; -ESTALE: the exporter has revoked it; -EINTR; -ENODEV */
int buffer_map(struct buffer *b);

bool buffer_has(const struct buffer *b, u64 offset, u64 length);

/* The bus address of @offset, which @left bytes follow. Engine's lock held, buffer valid */
u32 buffer_bus(const struct buffer *b, u64 offset, u64 *left);

/* The chip is being removed: detach all buffers. */
void buffers_detach(struct chip *chip);

#endif

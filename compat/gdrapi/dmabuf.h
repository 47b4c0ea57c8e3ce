/* SPDX-License-Identifier: MIT */
/*
 * The back end without a kernel module: the GPU's driver exports the memory as a dma-buf, and the
 * CPU maps the dma-buf. For discrete GPUs drivers do so since 610 (CUDA 13.3).
 */
#ifndef GDR_DMABUF_H
#define GDR_DMABUF_H

#include <stddef.h>
#include <stdint.h>
#include "handle.h"

/* Load CUDA. -EOPNOTSUPP: CUDA is older than 13.3, or no GPU exports dma-bufs; -ENODEV: no CUDA */
int gdr_dmabuf_open(void);

/* Fill in all fields of a pinned handle but @owner and @times. @flags: gdr_pin_flags_t */
int gdr_dmabuf_pin(struct gdr_handle *h, uint64_t addr, size_t size, uint32_t flags);

/* Map @length bytes of the dma-buf at @offset. -EOPNOTSUPP: the GPU's driver refuses mmap() of it */
int gdr_dmabuf_map(struct gdr_handle *h, uint64_t offset, size_t length, void **out);

#endif

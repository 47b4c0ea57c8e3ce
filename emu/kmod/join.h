/* SPDX-License-Identifier: GPL-2.0 */
/* A joined memory: pages of several memories in one array, for a dma-buf of neighbouring blocks. */
#ifndef _EMUGPU_JOIN_H
#define _EMUGPU_JOIN_H

#include <linux/types.h>

struct emugpu_gpu;
struct emugpu_memory;

/* Without pages yet; room for @npages pages of @nparts memories of @gpu. Drop it by emugpu_memory_put(). NULL: no memory */
struct emugpu_memory *emugpu_join_new(struct emugpu_gpu *gpu, u32 nparts, u32 npages);

/* Appends @npages pages of @part, and takes a reference to @part. */
void emugpu_join_add(struct emugpu_memory *memory, struct emugpu_memory *part, const u32 *pages, u32 npages);

/* Whether the joined memory @memory has pages of @part */
bool emugpu_join_has(const struct emugpu_memory *memory, const struct emugpu_memory *part);

/* Whether nothing but the joined memory @memory refers to its parts: no block, and no other dma-buf */
bool emugpu_join_is_alone(const struct emugpu_memory *memory);

#endif

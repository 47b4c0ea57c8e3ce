/* SPDX-License-Identifier: GPL-2.0 */
/* A fence that is signalled when DMA on a revoked dma-buf has ended; part of peerpin.ko. */
#ifndef _PEERPIN_END_FENCE_H
#define _PEERPIN_END_FENCE_H

struct dma_fence;
struct dma_resv;

/**
 * pp_end_fence_new() - make a fence; the caller signals it with dma_fence_signal()
 *
 * Context: process. Return: the fence; NULL: no memory.
 */
struct dma_fence *pp_end_fence_new(void);

/**
 * pp_end_fence_leave() - add @fence to @resv; the exporter waits for the fence
 *
 * Call it at most once for a fence. The fence then holds the module, because a reservation object
 * keeps signalled fences. Context: process, @resv locked. Return: 0; -ENOMEM.
 */
int pp_end_fence_leave(struct dma_fence *fence, struct dma_resv *resv);

#endif

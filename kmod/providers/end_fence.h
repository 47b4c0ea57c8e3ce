/* SPDX-License-Identifier: GPL-2.0 */
/* A fence that says when devices let go of a dma-buf which is being taken back; part of peerpin.ko. */
#ifndef _PEERPIN_END_FENCE_H
#define _PEERPIN_END_FENCE_H

struct dma_fence;
struct dma_resv;

/**
 * pp_end_fence_new() - one that is signalled by hand, with dma_fence_signal()
 *
 * Context: process. Return: NULL: no memory.
 */
struct dma_fence *pp_end_fence_new(void);

/**
 * pp_end_fence_leave() - have others wait for it, who wait for all that @resv has
 *
 * Once. It may outlive all else then, for a reservation object keeps fences that are
 * signalled: so it holds the module. Context: process, @resv locked.
 * Return: 0; -ENOMEM.
 */
int pp_end_fence_leave(struct dma_fence *fence, struct dma_resv *resv);

#endif

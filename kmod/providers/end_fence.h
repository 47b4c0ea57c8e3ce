/* SPDX-License-Identifier: GPL-2.0 */
/* A fence that says when devices let go of a dma-buf which is being taken back; part of peerpin.ko. */
#ifndef _PEERPIN_END_FENCE_H
#define _PEERPIN_END_FENCE_H

struct dma_fence;

/**
 * pp_end_fence_new() - one that is signalled by hand, with dma_fence_signal()
 *
 * It may outlive all else: others' reservation objects keep fences that are
 * signalled. So it holds the module. Context: process. Return: NULL: no memory.
 */
struct dma_fence *pp_end_fence_new(void);

#endif

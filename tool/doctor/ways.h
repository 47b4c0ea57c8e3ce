/* SPDX-License-Identifier: MIT */
/* The ways in which an RDMA device can be given GPU memory: dma-bufs, and peer memory. */
#ifndef DOCTOR_WAYS_H
#define DOCTOR_WAYS_H

#include "view.h"

/* Does this GPU export its memory as dma-bufs? */
enum seen exports_dma_bufs(const struct view *v, const struct device *gpu);

/* Do all that lend memory, does any? Not known where there is none. */
enum seen gpus_export_dma_bufs(const struct view *v);
enum seen a_gpu_exports_dma_bufs(const struct view *v);

/* Can this RDMA device's driver register them? */
enum seen takes_dma_bufs(const struct view *v, const struct device *rdma);

/* Is nvidia-peermem, or what was there before it, loaded? */
enum seen peer_memory_loaded(const struct view *v);

/* Does it serve this RDMA device? */
enum seen takes_peer_memory(const struct view *v, const struct device *rdma);

/* Is there any way to this GPU's memory? To that of all GPUs that lend it, to any? */
enum seen can_register(const struct view *v, const struct device *rdma, const struct device *gpu);
enum seen can_register_all(const struct view *v, const struct device *rdma);
enum seen can_register_any(const struct view *v, const struct device *rdma);

/* Is there an RDMA device that peer memory is for? Its modules serve those of drivers of Mellanox's. */
bool wants_peer_memory(const struct view *v);

/* Are dma-bufs enough for all of these, with all GPUs? With any? */
enum seen dma_bufs_suffice(const struct view *v);
enum seen dma_bufs_help(const struct view *v);

#endif

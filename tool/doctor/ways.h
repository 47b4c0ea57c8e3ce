/* SPDX-License-Identifier: MIT */
/* The two ways to register GPU memory with an RDMA device: dma-bufs and peer memory. */
#ifndef DOCTOR_WAYS_H
#define DOCTOR_WAYS_H

#include "view.h"

/* Does this GPU export its memory as dma-bufs? */
enum seen exports_dma_bufs(const struct view *v, const struct device *gpu);

/* Do all GPUs with lends_memory() export dma-bufs? SEEN_UNKNOWN if there is no such GPU. */
enum seen gpus_export_dma_bufs(const struct view *v);

/* Does any GPU with lends_memory() export dma-bufs? SEEN_UNKNOWN if there is no such GPU. */
enum seen a_gpu_exports_dma_bufs(const struct view *v);

/* Can this RDMA device's driver register dma-bufs? */
enum seen takes_dma_bufs(const struct view *v, const struct device *rdma);

/* Is nvidia-peermem, or its predecessor nv_peer_mem, loaded? */
enum seen peer_memory_loaded(const struct view *v);

/* Can this RDMA device's driver register GPU memory by a loaded peer memory module? */
enum seen takes_peer_memory(const struct view *v, const struct device *rdma);

/* Can the RDMA device register GPU memory: of one GPU; of all GPUs; of at least one GPU? */
enum seen can_register(const struct view *v, const struct device *rdma, const struct device *gpu);
enum seen can_register_all(const struct view *v, const struct device *rdma);
enum seen can_register_any(const struct view *v, const struct device *rdma);

/* Is there an RDMA device of Mellanox? Peer memory modules serve only Mellanox's drivers. */
bool wants_peer_memory(const struct view *v);

/* Can each RDMA device of Mellanox register memory of all GPUs as dma-bufs? */
enum seen dma_bufs_suffice(const struct view *v);

/* Can each RDMA device of Mellanox register memory of at least one GPU as dma-bufs? */
enum seen dma_bufs_help(const struct view *v);

#endif

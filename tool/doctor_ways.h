/* SPDX-License-Identifier: MIT */
/* The ways in which an RDMA device can be given GPU memory: dma-bufs, and peer memory. */
#ifndef DOCTOR_WAYS_H
#define DOCTOR_WAYS_H

#include "doctor_view.h"

/* Do all GPUs export their memory as dma-bufs? */
enum seen gpus_export_dma_bufs(const struct view *v);

/* Can this RDMA device's driver register them? */
enum seen takes_dma_bufs(const struct view *v, const struct device *rdma);

/* Is nvidia-peermem, or what was there before it, loaded? */
enum seen peer_memory_loaded(const struct view *v);

/* Does it serve this RDMA device? */
enum seen takes_peer_memory(const struct view *v, const struct device *rdma);

/* Is there any way? */
enum seen can_register(const struct view *v, const struct device *rdma);

/* Is there an RDMA device that peer memory is for? Its modules serve those of drivers of Mellanox's. */
bool wants_peer_memory(const struct view *v);

/* Are dma-bufs enough for all of these? */
enum seen dma_bufs_suffice(const struct view *v);

#endif

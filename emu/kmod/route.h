/* SPDX-License-Identifier: GPL-2.0 */
/* Routes between a GPU and a peer device */
#ifndef _EMUGPU_ROUTE_H
#define _EMUGPU_ROUTE_H

#include <linux/types.h>

struct device;
struct emugpu_gpu;

/*
 * Whether NVIDIA's driver maps memory of @gpu for @peer. far_peers=1: on a chipset that the driver knows to forward peer
 * traffic, all peers are supported. far_peers=0: on another chipset, the driver since 580.65 supports only a peer that has
 * a bridge in common with the GPU: a switch or a root port. Of a GPU that is coherent with the CPU it supports all peers.
 */
bool emugpu_route_is_supported(const struct emugpu_gpu *gpu, struct device *peer);

#endif

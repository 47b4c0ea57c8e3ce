/* SPDX-License-Identifier: GPL-2.0 */
/* Routes between a GPU and a peer device */
#ifndef _EMUGPU_ROUTE_H
#define _EMUGPU_ROUTE_H

#include <linux/types.h>

struct device;
struct emugpu_gpu;

/*
 * Whether NVIDIA's driver maps memory of @gpu for @peer. far_peers=1 plays a chipset of which the driver knows that it
 * forwards peer traffic: all peers are supported. far_peers=0 plays an unknown chipset: since 580.65 the driver
 * supports only peers below a bridge (switch or root port) that is also above the GPU. All peers of a coherent GPU are
 * supported.
 */
bool emugpu_route_is_supported(const struct emugpu_gpu *gpu, struct device *peer);

#endif

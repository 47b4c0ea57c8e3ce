/* SPDX-License-Identifier: GPL-2.0 */
/* Routes between a GPU and a peer device */
#ifndef _EMUGPU_ROUTE_H
#define _EMUGPU_ROUTE_H

#include <linux/types.h>

struct device;
struct emugpu_gpu;

/*
 * Whether NVIDIA's driver maps memory of @gpu for @peer. Since 580.65 it refuses a pair that no common switch or
 * supported root complex connects. far_peers=0: a root complex supports the pairs below it, and no others. far_peers=1:
 * all pairs are supported.
 */
bool emugpu_route_is_supported(const struct emugpu_gpu *gpu, struct device *peer);

#endif

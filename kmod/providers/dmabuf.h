/* SPDX-License-Identifier: GPL-2.0 */
/* The dma-buf of another driver; part of peerpin.ko. */
#ifndef _PEERPIN_DMABUF_H
#define _PEERPIN_DMABUF_H

#include "../core/region/provider.h"

extern const struct pp_provider pp_dmabuf_provider;

#endif

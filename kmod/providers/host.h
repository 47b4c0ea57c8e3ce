/* SPDX-License-Identifier: GPL-2.0 */
/* Host memory of the calling process; part of peerpin.ko. */
#ifndef _PEERPIN_HOST_H
#define _PEERPIN_HOST_H

#include "../core/region/provider.h"

extern const struct pp_provider pp_host_provider;

#endif

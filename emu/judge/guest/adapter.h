/* SPDX-License-Identifier: MIT */
/* The VM's RDMA adapter, with --device rdma */
#ifndef JUDGE_ADAPTER_H
#define JUDGE_ADAPTER_H

#include "emu/judge/share.h"

/** adapter_init - @script: emu/vm/adapter, which makes the adapter. Adds libemurdma.so to the test's LD_PRELOAD */
void adapter_init(const char *script);

/**
 * adapter_make - make the adapter if there is none, and store its device node in @share
 *
 * @register_ms: time that each registration of peer memory takes from now on. Does nothing without adapter_init(). Call
 * after the driver under test is loaded: it may be the adapter's own driver. Returns 0 or -errno.
 */
int adapter_make(struct share *share, uint32_t register_ms);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* The devices of core_check and their DMA in flight. core_check.h describes the calls. */
#ifndef CORE_PEER_H
#define CORE_PEER_H

#include <linux/list.h>
#include <peerpin.h>
#include "core_check.h"

/**
 * struct check_flight - a DMA in flight
 * @in_flights: entry of the list of DMA in flight; the thread that unlists the entry ends the DMA
 * @end_in_stop: true: stop() ends the DMA
 * @wait_in_stop: true: stop() waits until another thread has ended the DMA
 */
struct check_flight {
	struct list_head in_flights;
	struct peerpin_dma dma;
	bool end_in_stop;
	bool wait_in_stop;
};

void check_flight_add(struct check_flight *f);	/* the DMA has begun; any context */
int check_flight_end(struct check_flight *f);	/* any context */

int check_peer_register(const struct core_check *c);
int check_peer_unregister(unsigned int which);
struct peerpin_attach *check_peer_attach(const struct core_check *c, struct peerpin_region *r);
unsigned int check_peer_stops(unsigned int which);

int check_peers_init(void);
void check_peers_exit(void);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* The devices of core_check and their DMA in flight. Calls as in core_check.h. */
#ifndef CORE_PEER_H
#define CORE_PEER_H

#include <linux/list.h>
#include <peerpin.h>
#include "core_check.h"

/**
 * struct check_flight - a DMA in flight
 * @in_flights: in flight while listed; the thread that unlists it ends the DMA
 * @end_in_stop: stop() ends it
 */
struct check_flight {
	struct list_head in_flights;
	struct peerpin_dma dma;
	bool end_in_stop;
};

void check_flight_add(struct check_flight *f);	/* begun; any context */
int check_flight_end(struct check_flight *f);	/* any context */

int check_peer_register(const struct core_check *c);
int check_peer_unregister(unsigned int which);
struct peerpin_attach *check_peer_attach(const struct core_check *c, struct peerpin_region *r);
unsigned int check_peer_stops(unsigned int which);

int check_peers_init(void);
void check_peers_exit(void);

#endif

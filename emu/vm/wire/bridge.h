/* SPDX-License-Identifier: MIT */
/*
 * An Ethernet switch between the network cards of VMs. All cards send their frames to one
 * socket of the switch. The switch learns which card has which MAC address.
 */
#ifndef EMU_VM_BRIDGE_H
#define EMU_VM_BRIDGE_H

#include <stddef.h>

struct bridge;

/**
 * bridge_open - bind @path, and make a port for the socket of each card
 *
 * The sockets of the cards need not exist yet. Returns NULL with errno set.
 */
struct bridge *bridge_open(const char *path, char *const *cards, size_t nr_cards);

/**
 * bridge_step - wait until a frame can be forwarded, and forward it
 *
 * @timeout: of the wait, in milliseconds; -1: no time-out. Returns 0, or -errno if the switch
 * cannot go on.
 */
int bridge_step(struct bridge *b, int timeout);

/** bridge_close - unlink the socket and free all */
void bridge_close(struct bridge *b);

#endif

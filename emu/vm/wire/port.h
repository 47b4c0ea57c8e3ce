/* SPDX-License-Identifier: MIT */
/*
 * A port of the switch: the Unix datagram socket of one network card, which QEMU binds
 * (-netdev dgram). A datagram is an Ethernet frame.
 */
#ifndef EMU_VM_PORT_H
#define EMU_VM_PORT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/un.h>

enum {
	/*
	 * Frames. The response to an RDMA read of 8 MiB is 8192 frames, which the responder sends
	 * without a pause. Each dropped frame would cost a time-out.
	 */
	PORT_QUEUE_MAX = 16384,
};

struct packet;

/*
 * struct port
 * @fd: connected to @card while @connected; poll() reports POLLOUT if @card has room
 * @queue: a ring of @count frames from @head on, which wait for room
 */
struct port {
	struct sockaddr_un card;
	int fd;
	bool connected;
	struct packet *queue[PORT_QUEUE_MAX];
	size_t head, count;
};

/** port_open - make the port of the card at @path, which need not exist yet; returns 0 or -errno */
int port_open(struct port *p, const char *path);

/** port_close - also after a failed port_open() */
void port_close(struct port *p);

/**
 * port_send - send a frame, now or when the card has room
 *
 * Never blocks. Drops the frame if PORT_QUEUE_MAX frames wait. Returns false if the card's
 * socket does not exist.
 */
bool port_send(struct port *p, const void *frame, size_t length);

/** port_flush - send waiting frames while the card has room; returns false as port_send() */
bool port_flush(struct port *p);

#endif

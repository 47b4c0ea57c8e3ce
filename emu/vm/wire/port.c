// SPDX-License-Identifier: MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "port.h"

struct packet {
	size_t length;
	unsigned char frame[];
};

int port_open(struct port *p, const char *path)
{
	*p = (struct port){ .card.sun_family = AF_UNIX, .fd = -1 };
	if (strlen(path) >= sizeof(p->card.sun_path))
		return -ENAMETOOLONG;
	strcpy(p->card.sun_path, path);
	p->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	return p->fd < 0 ? -errno : 0;
}

static struct packet *first(const struct port *p)
{
	return p->queue[p->head];
}

static void drop_first(struct port *p)
{
	free(first(p));
	p->head = (p->head + 1) % PORT_QUEUE_MAX;
	p->count--;
}

static void drop_all(struct port *p)
{
	while (p->count)
		drop_first(p);
}

void port_close(struct port *p)
{
	drop_all(p);
	if (p->fd >= 0)
		close(p->fd);
}

/*
 * A restarted VM binds the same path to a new socket. The first send after that fails with
 * ECONNREFUSED; connecting again reaches the new socket.
 */
static int transmit(struct port *p, const void *frame, size_t length)
{
	int tries;

	for (tries = 0; tries < 2; tries++) {
		if (!p->connected && connect(p->fd, (struct sockaddr *)&p->card, sizeof(p->card)))
			return -errno;
		p->connected = true;
		if (send(p->fd, frame, length, MSG_NOSIGNAL) >= 0)
			return 0;
		if (errno == EAGAIN)
			return -errno;
		p->connected = false;
	}
	return -errno;
}

static void enqueue(struct port *p, const void *frame, size_t length)
{
	struct packet *packet;

	if (p->count == PORT_QUEUE_MAX)
		return;
	packet = malloc(sizeof(*packet) + length);
	if (!packet)
		return;
	packet->length = length;
	memcpy(packet->frame, frame, length);
	p->queue[(p->head + p->count++) % PORT_QUEUE_MAX] = packet;
}

/* A frame must not overtake the waiting frames. */
bool port_send(struct port *p, const void *frame, size_t length)
{
	int ret = p->count ? -EAGAIN : transmit(p, frame, length);

	if (ret == -EAGAIN)
		enqueue(p, frame, length);
	return !ret || ret == -EAGAIN;
}

bool port_flush(struct port *p)
{
	int ret = 0;

	while (p->count && !ret) {
		ret = transmit(p, first(p)->frame, first(p)->length);
		if (!ret)
			drop_first(p);
	}
	if (!ret || ret == -EAGAIN)
		return true;
	drop_all(p);
	return false;
}

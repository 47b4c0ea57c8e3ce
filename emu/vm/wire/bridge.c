// SPDX-License-Identifier: MIT
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bridge.h"
#include "port.h"

enum {
	MAC_LENGTH = 6,
	HEADER_LENGTH = 14,
	FRAME_LENGTH_MAX = 65536 + 4096,	/* QEMU sends no longer frame */
	ADDRESSES_MAX = 256,
	BURST = 64,	/* frames received before waiting frames are sent */
};

/* A learned address; @port is NULL in a free entry. */
struct address {
	struct port *port;
	uint8_t mac[MAC_LENGTH];
};

/*
 * struct bridge
 * @at: path of @fd, the socket that all cards send to
 * @next: the entry of @addresses that the next new address replaces
 * @polled: @fd, then the socket of each port
 */
struct bridge {
	struct sockaddr_un at;
	int fd;
	struct address addresses[ADDRESSES_MAX];
	size_t next;
	uint8_t frame[FRAME_LENGTH_MAX];
	struct pollfd *polled;
	size_t nr_ports;
	struct port ports[];
};

/* ---- addresses -------------------------------------------------------------------- */

static struct address *find(struct bridge *b, const uint8_t *mac)
{
	size_t i;

	for (i = 0; i < ADDRESSES_MAX; i++)
		if (b->addresses[i].port && !memcmp(b->addresses[i].mac, mac, MAC_LENGTH))
			return &b->addresses[i];
	return NULL;
}

static int is_group(const uint8_t *mac)
{
	return mac[0] & 1;
}

/* In a full table the new address replaces the one that was learned first. */
static void learn(struct bridge *b, const uint8_t *mac, struct port *port)
{
	struct address *a = find(b, mac);

	if (is_group(mac))
		return;
	if (!a) {
		a = &b->addresses[b->next];
		b->next = (b->next + 1) % ADDRESSES_MAX;
		memcpy(a->mac, mac, MAC_LENGTH);
	}
	a->port = port;
}

static void forget(struct bridge *b, const struct port *port)
{
	size_t i;

	for (i = 0; i < ADDRESSES_MAX; i++)
		if (b->addresses[i].port == port)
			b->addresses[i].port = NULL;
}

/* ---- forwarding ------------------------------------------------------------------- */

static void send_to(struct bridge *b, struct port *port, size_t length)
{
	if (!port_send(port, b->frame, length))
		forget(b, port);
}

static void flood(struct bridge *b, const struct port *from, size_t length)
{
	size_t i;

	for (i = 0; i < b->nr_ports; i++)
		if (&b->ports[i] != from)
			send_to(b, &b->ports[i], length);
}

static void forward(struct bridge *b, struct port *from, size_t length)
{
	const uint8_t *to = b->frame, *source = b->frame + MAC_LENGTH;
	struct address *known;

	learn(b, source, from);
	known = find(b, to);
	if (!known)
		flood(b, from, length);
	else if (known->port != from)
		send_to(b, known->port, length);
}

static struct port *port_at(struct bridge *b, const struct sockaddr_un *card)
{
	size_t i;

	for (i = 0; i < b->nr_ports; i++)
		if (!strcmp(b->ports[i].card.sun_path, card->sun_path))
			return &b->ports[i];
	return NULL;
}

/* Returns 1 if a datagram was received. A sender without a port is no card, so its datagram is dropped. */
static int receive(struct bridge *b)
{
	struct sockaddr_un sender = { 0 };
	socklen_t size = sizeof(sender);
	struct port *from;
	ssize_t got;

	got = recvfrom(b->fd, b->frame, sizeof(b->frame), MSG_DONTWAIT, (struct sockaddr *)&sender, &size);
	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	from = port_at(b, &sender);
	if (from && got >= HEADER_LENGTH)
		forward(b, from, (size_t)got);
	return 1;
}

static void flush_all(struct bridge *b)
{
	size_t i;

	for (i = 0; i < b->nr_ports; i++)
		if (b->ports[i].count && !port_flush(&b->ports[i]))
			forget(b, &b->ports[i]);
}

/* A port is polled only while frames wait for it: otherwise its card has room all the time. */
static int await(struct bridge *b, int timeout)
{
	size_t i;

	for (i = 0; i < b->nr_ports; i++)
		b->polled[1 + i].fd = b->ports[i].count ? b->ports[i].fd : -1;
	return poll(b->polled, 1 + b->nr_ports, timeout) < 0 && errno != EINTR ? -errno : 0;
}

int bridge_step(struct bridge *b, int timeout)
{
	int ret = await(b, timeout), i;

	if (ret < 0)
		return ret;
	flush_all(b);
	for (i = 0, ret = 1; ret == 1 && i < BURST; i++)
		ret = receive(b);
	return ret < 0 ? ret : 0;
}

/* ---- open and close --------------------------------------------------------------- */

static int open_socket(struct bridge *b, const char *path)
{
	b->at.sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(b->at.sun_path))
		return -ENAMETOOLONG;
	b->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (b->fd < 0)
		return -errno;
	strcpy(b->at.sun_path, path);
	if (!bind(b->fd, (struct sockaddr *)&b->at, sizeof(b->at)))
		return 0;
	b->at.sun_path[0] = '\0';	/* not ours to unlink */
	return -errno;
}

static int open_ports(struct bridge *b, char *const *cards, size_t nr_cards)
{
	int ret = 0;

	b->polled = calloc(1 + nr_cards, sizeof(*b->polled));
	if (!b->polled)
		return -ENOMEM;
	b->polled[0] = (struct pollfd){ .fd = b->fd, .events = POLLIN };
	while (!ret && b->nr_ports < nr_cards) {
		ret = port_open(&b->ports[b->nr_ports], cards[b->nr_ports]);
		b->polled[++b->nr_ports] = (struct pollfd){ .fd = -1, .events = POLLOUT };
	}
	return ret;
}

struct bridge *bridge_open(const char *path, char *const *cards, size_t nr_cards)
{
	struct bridge *b = calloc(1, sizeof(*b) + nr_cards * sizeof(b->ports[0]));
	int ret;

	if (!b)
		return NULL;
	b->fd = -1;
	ret = open_socket(b, path) ?: open_ports(b, cards, nr_cards);
	if (!ret)
		return b;
	bridge_close(b);
	errno = -ret;
	return NULL;
}

void bridge_close(struct bridge *b)
{
	while (b->nr_ports)
		port_close(&b->ports[--b->nr_ports]);
	if (b->at.sun_path[0])
		unlink(b->at.sun_path);
	if (b->fd >= 0)
		close(b->fd);
	free(b->polled);
	free(b);
}

// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <peerpin_lsi.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "test/fuzz/calls/random.h"
#include "area.h"
#include "peer.h"

/* Choose any present peer: after a hot-plug a peer may have another number. */
static int choose_node(struct worker *w, char path[32])
{
	DIR *dir = opendir("/sys/class/misc");
	struct dirent *entry;
	unsigned int found = 0;

	while (dir && (entry = readdir(dir)))
		if (!strncmp(entry->d_name, "lsi", 3) && !random_below(&w->seed, ++found))
			snprintf(path, 32, "/dev/%.16s", entry->d_name);
	if (dir)
		closedir(dir);
	return found ? 0 : -ENOENT;
}

int peer_get(struct worker *w)
{
	struct since since = since_now();
	char path[32];
	int err;

	if (w->peer >= 0)
		return 0;
	err = choose_node(w, path);
	if (!err) {
		w->peer = open(path, O_RDWR | O_CLOEXEC);
		err = w->peer < 0 ? -errno : 0;
	}
	w->peer_opened = since;
	return worker_check(w, OP_OPEN_PEER, err, since_what(&since));
}

void peer_drop(struct worker *w)
{
	if (w->peer >= 0)
		close(w->peer);
	w->peer = -1;
}

static unsigned int copy_when(struct worker *w, const struct end *to, const struct end *from)
{
	return pin_when(w, to->pin) | pin_when(w, from->pin) | (since_what(&w->peer_opened) & WHEN_PEER) |
	       (w->rival ? WHEN_RIVAL : 0);
}

static struct peerpin_lsi_end lsi_end(struct worker *w, const struct end *end)
{
	return (struct peerpin_lsi_end){ w->core, end->pin->region, end->offset };
}

/* The kernel sometimes moves host memory, which revokes the region. That is no error. */
static void note_host_revoked(unsigned int when, int err)
{
	if (err == -ESTALE && when & WHEN_REVOKED && !(when & (WHEN_GPU | WHEN_RIVAL)))
		count(COUNT_HOST_REVOKED, 1);
}

int peer_copy(struct worker *w, struct end to, struct end from, uint64_t length)
{
	struct peerpin_lsi_copy args = {
		.size = sizeof(args), .dst = lsi_end(w, &to), .src = lsi_end(w, &from), .length = length,
	};
	unsigned int when;
	int err;

	if (!ioctl(w->peer, PEERPIN_LSI_IOC_COPY, &args)) {
		count(COUNT_COPIES, 1);
		return 0;
	}
	err = -errno;
	when = copy_when(w, &to, &from);
	note_host_revoked(when, err);
	if (err == -ENODEV)
		peer_drop(w);
	return worker_check(w, OP_COPY, err, when);
}

/* SPDX-License-Identifier: MIT */
/* Open files of all processes that mean something to peerpin: in /proc/PID/fd. */
#ifndef FDS_H
#define FDS_H

#include <stddef.h>
#include <sys/types.h>

enum fd_kind {
	FD_PEERPIN,	/* /dev/peerpin */
	FD_CACHE,	/* statistics that libpeerpin publishes */
};

struct fd_at {
	enum fd_kind kind;
	pid_t pid;
	int fd;
};

/** struct fds - all that were seen, by pid; @unreadable: processes of other users */
struct fds {
	size_t count;
	struct fd_at *at;
	unsigned int unreadable;
};

/* 0, or -errno: /proc cannot be read */
int fds_find(struct fds *out);
void fds_free(struct fds *fds);

#endif

/* SPDX-License-Identifier: MIT */
/* Finds, in /proc/PID/fd, the open files of all processes that belong to peerpin. */
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

/** struct fds - all files found; @unreadable: number of processes of other users, not searched */
struct fds {
	size_t count;
	struct fd_at *at;
	unsigned int unreadable;
};

/* Returns 0, or -errno if /proc cannot be read */
int fds_find(struct fds *out);
void fds_free(struct fds *fds);

#endif

/* SPDX-License-Identifier: MIT */
/* Finds the open files of peerpin in /proc/PID/fd of all processes. */
#ifndef FDS_H
#define FDS_H

#include <stddef.h>
#include <sys/types.h>

enum fd_kind {
	FD_PEERPIN,	/* /dev/peerpin */
	FD_CACHE,	/* the memfd in which libpeerpin publishes statistics */
};

struct fd_at {
	enum fd_kind kind;
	pid_t pid;
	int fd;
};

/** struct fds - the files found; @unreadable: number of processes that this user may not search */
struct fds {
	size_t count;
	struct fd_at *at;
	unsigned int unreadable;
};

/* Returns 0, or -errno if /proc cannot be read */
int fds_find(struct fds *out);
void fds_free(struct fds *fds);

#endif

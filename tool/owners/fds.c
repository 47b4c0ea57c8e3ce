// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/cache/published.h"
#include "fds.h"
#include "tool/util/grow.h"

static const char *const targets[] = {
	[FD_PEERPIN] = "/dev/peerpin",
	[FD_CACHE] = "/memfd:" PP_PUBLISHED_NAME " (deleted)",
};

/* Returns the enum fd_kind for the target of a link in /proc/PID/fd; -1: not a file of peerpin. */
static int kind_of(const char *target)
{
	unsigned int i;

	for (i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		if (!strcmp(target, targets[i]))
			return (int)i;
	return -1;
}

static void look_at(struct fds *fds, pid_t pid, int dir, const char *name)
{
	char target[64];
	ssize_t n = readlinkat(dir, name, target, sizeof(target) - 1);
	int kind;

	if (n < 0)
		return;		/* the process has closed the file meanwhile */
	target[n] = '\0';
	kind = kind_of(target);
	if (kind < 0)
		return;
	fds->at = grow(fds->at, fds->count, sizeof(*fds->at));
	fds->at[fds->count++] = (struct fd_at){ .kind = kind, .pid = pid, .fd = atoi(name) };
}

static void look_at_process(struct fds *fds, pid_t pid)
{
	struct dirent *entry;
	char path[64];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir) {
		fds->unreadable += errno == EACCES || errno == EPERM;	/* EPERM if /proc has hidepid=1 */
		return;
	}
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			look_at(fds, pid, dirfd(dir), entry->d_name);
	closedir(dir);
}

int fds_find(struct fds *out)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	*out = (struct fds){ 0 };
	if (!proc)
		return -errno;
	while ((entry = readdir(proc))) {
		pid_t pid = atoi(entry->d_name);

		if (pid > 0)
			look_at_process(out, pid);
	}
	closedir(proc);
	return 0;
}

void fds_free(struct fds *fds)
{
	free(fds->at);
	*fds = (struct fds){ 0 };
}

/* SPDX-License-Identifier: MIT */
/*
 * Finds the processes that hold pinned memory. Root reads all of them from the core's
 * debugfs files, including regions pinned by drivers. Other users read
 * /proc/PID/fdinfo/FD of each /dev/peerpin that their own processes have open.
 */
#ifndef OWNERS_H
#define OWNERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include "fds.h"

/** struct owned_region - @id: -1: pinned by a driver, without an open file */
struct owned_region {
	int64_t id;
	char provider[16];
	uint64_t addr;
	uint64_t length;
	char state[16];
	uint64_t age_ms;
	unsigned int extents;
	char devices[256];	/* comma-separated; "-" for none */
};

/**
 * struct owner - a process (from the core) or one open /dev/peerpin (from fdinfo)
 * @pid, @fd: location of the open file; @fd -1: from the core
 * @owner: the process that owns the regions
 * @bytes: total of the live regions
 * @count: number of regions; @regions lists them if requested
 * @pins, @revoked: totals of the process since it opened the file
 */
struct owner {
	pid_t pid;
	int fd;
	pid_t owner;
	uint64_t bytes;
	uint64_t count;
	uint64_t pins;
	uint64_t revoked;
	char command[32];
	size_t nr_regions;
	struct owned_region *regions;
};

/**
 * struct owners - all owners that could be read
 * @told_by_core: read from the core; false: from fdinfo
 */
struct owners {
	size_t count;
	struct owner *at;
	bool told_by_core;
	unsigned int unreadable;	/* number of processes without permission */
};

enum owners_detail {
	OWNERS_SUMS,
	OWNERS_REGIONS,
};

/* Reads one fdinfo; false if the file is not of peerpin. */
bool owner_parse(FILE *f, enum owners_detail detail, struct owner *out);
void owner_free(struct owner *o);

/* Reads the core's files, or fdinfo if these cannot be read. Sorted by pid. Returns 0 or -errno */
int owners_find(enum owners_detail detail, struct owners *out);

/* The two sources: the core (-errno of core_file()), and fdinfo of the files in @fds */
int owners_by_core(enum owners_detail detail, struct owners *out);
void owners_by_fds(const struct fds *fds, enum owners_detail detail, struct owners *out);

void owners_free(struct owners *o);

/* Parse the core's lists: first the accounts, then the regions, which are added to their owners. */
void owners_parse_accounts(FILE *accounts, struct owners *out);
void owners_parse_regions(FILE *regions, struct owners *out);

/* The name of a process; "?": it has exited */
void owner_command(pid_t pid, char *out, size_t room);

#endif

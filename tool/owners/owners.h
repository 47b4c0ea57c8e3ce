/* SPDX-License-Identifier: MIT */
/*
 * Finds the owners of pinned memory. Root reads the core's debugfs files, which have all
 * processes, and also regions that drivers pinned. Other users read /proc/PID/fdinfo/FD of
 * each /dev/peerpin that their own processes have open.
 */
#ifndef OWNERS_H
#define OWNERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include "fds.h"

/** struct owned_region - a pinned region; @id: -1 if a driver pinned it, without an open file */
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
 * @pid, @fd: process and descriptor of the open file; @fd is -1 if the core is the source
 * @owner: the process that owns the regions
 * @bytes: total size of the live regions
 * @count: number of regions
 * @pins, @revoked: totals of the owner since it opened the file
 * @regions: the regions, if OWNERS_REGIONS was given
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
 * @told_by_core: true if the core's files were read; false if fdinfo was read
 */
struct owners {
	size_t count;
	struct owner *at;
	bool told_by_core;
	unsigned int unreadable;	/* number of processes that this user may not read */
};

enum owners_detail {
	OWNERS_SUMS,
	OWNERS_REGIONS,
};

/* Parses one fdinfo file; false: it is not of /dev/peerpin. */
bool owner_parse(FILE *f, enum owners_detail detail, struct owner *out);
void owner_free(struct owner *o);

/* Reads the core's files, or fdinfo if the core's files cannot be read. Sorts by pid. Returns 0 or -errno. */
int owners_find(enum owners_detail detail, struct owners *out);

/* Find the owners in one source: the core's files (returns 0 or -errno), or fdinfo of the files in @fds. */
int owners_by_core(enum owners_detail detail, struct owners *out);
void owners_by_fds(const struct fds *fds, enum owners_detail detail, struct owners *out);

void owners_free(struct owners *o);

/* Parse the core's lists. Call the first function first: the second adds regions to the owners that the first found. */
void owners_parse_accounts(FILE *accounts, struct owners *out);
void owners_parse_regions(FILE *regions, struct owners *out);

/* Copies the name of a process; "?": the process has exited. */
void owner_command(pid_t pid, char *out, size_t room);

#endif

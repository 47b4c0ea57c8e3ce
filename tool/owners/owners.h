/* SPDX-License-Identifier: MIT */
/*
 * Who holds pinned memory. The core tells root of all, also of what drivers have
 * pinned; anybody is told of each open /dev/peerpin of his own processes, in
 * /proc/PID/fdinfo/FD.
 */
#ifndef OWNERS_H
#define OWNERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include "fds.h"

/** struct owned_region - @id: -1: a driver's, which no file knows */
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
 * struct owner - a process; or one open /dev/peerpin, where the core did not tell
 * @pid, @fd: where the file was found; @fd -1: by the core
 * @owner: the process it belongs to
 * @bytes: of live regions
 * @count: regions, all of which are in @regions if they were asked for
 * @pins, @revoked: of the process, since it has the file open
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
 * struct owners - all that could be read
 * @told_by_core: else from fdinfo
 */
struct owners {
	size_t count;
	struct owner *at;
	bool told_by_core;
	unsigned int unreadable;	/* processes */
};

enum owners_detail {
	OWNERS_SUMS,
	OWNERS_REGIONS,
};

/* Reads one fdinfo; false when it is none of peerpin's. */
bool owner_parse(FILE *f, enum owners_detail detail, struct owner *out);
void owner_free(struct owner *o);

/* By the core where it tells, else by fdinfo; by pid. 0 or -errno */
int owners_find(enum owners_detail detail, struct owners *out);

/* Its two ways: -errno as core_file() says; and of files that were found before */
int owners_by_core(enum owners_detail detail, struct owners *out);
void owners_by_fds(const struct fds *fds, enum owners_detail detail, struct owners *out);

void owners_free(struct owners *o);

/* The core's lists, as files: the second adds to what the first has made. */
void owners_parse_accounts(FILE *accounts, struct owners *out);
void owners_parse_regions(FILE *regions, struct owners *out);

/* The name of a process; "?": it is gone */
void owner_command(pid_t pid, char *out, size_t room);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Who holds pinned memory: the kernel tells it of each open /dev/peerpin in
 * /proc/PID/fdinfo/FD.
 */
#ifndef OWNERS_H
#define OWNERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/** struct owned_region - one line "peerpin-region:" */
struct owned_region {
	unsigned int id;
	char provider[16];
	uint64_t addr;
	uint64_t length;
	char state[16];
	uint64_t age_ms;
	unsigned int extents;
	char devices[256];	/* comma-separated; "-" for none */
};

/**
 * struct owner - one open /dev/peerpin
 * @pid, @fd: where it was found
 * @owner: the process it belongs to
 * @bytes: of live regions
 */
struct owner {
	pid_t pid;
	int fd;
	pid_t owner;
	uint64_t bytes;
	char command[32];
	size_t nr_regions;
	struct owned_region *regions;
};

/** struct owners - all that could be read */
struct owners {
	size_t count;
	struct owner *at;
	unsigned int unreadable;	/* processes */
};

/* Reads one fdinfo; false when it is none of peerpin's or memory ran out. */
bool owner_parse(FILE *f, struct owner *out);
void owner_free(struct owner *o);

/* 0 or -errno */
int owners_find(struct owners *out);
void owners_free(struct owners *o);

#endif

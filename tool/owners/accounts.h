/* SPDX-License-Identifier: MIT */
/*
 * The core's counters, readable by root: for each process that has /dev/peerpin open
 * or memory pinned, and for each peer.
 */
#ifndef ACCOUNTS_H
#define ACCOUNTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/** struct account - counters of one process, since the core first saw it */
struct account {
	pid_t pid;
	uint64_t bytes;
	uint64_t regions;
	uint64_t pins;
	uint64_t revoked;
};

struct accounts {
	size_t count;
	struct account *at;
};

/** struct peer_counts - transfers that have ended since the peer was registered */
struct peer_counts {
	char name[64];
	uint64_t transfers;
	uint64_t bytes;
};

struct peer_list {
	size_t count;
	struct peer_counts *at;
};

/* Opens one of the core's debugfs files; NULL and errno: EACCES not root, ENOENT no such file */
FILE *core_file(const char *name);

/* Parse the core's files "accounts" and "peers". */
void accounts_parse(FILE *f, struct accounts *out);
void peers_parse(FILE *f, struct peer_list *out);

void accounts_free(struct accounts *a);
void peers_free(struct peer_list *p);

#endif

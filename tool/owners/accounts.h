/* SPDX-License-Identifier: MIT */
/*
 * The core's debugfs files, which only root can read: counters of each process that has
 * /dev/peerpin open or memory pinned, and of each peer.
 */
#ifndef ACCOUNTS_H
#define ACCOUNTS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/** struct account - a process: bytes and regions pinned now; pins and revocations since it opened the file */
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

/* Opens a debugfs file of the core. On failure returns NULL and sets errno: EACCES not root, ENOENT no such file. */
FILE *core_file(const char *name);

/* Parse the core's files "accounts" and "peers". */
void accounts_parse(FILE *f, struct accounts *out);
void peers_parse(FILE *f, struct peer_list *out);

void accounts_free(struct accounts *a);
void peers_free(struct peer_list *p);

#endif

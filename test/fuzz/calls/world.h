/* SPDX-License-Identifier: MIT */
/*
 * What a worker process has: files, memory, pins. Its threads share it, and each
 * thing in it may be gone, or another, by the time it is used. What is put where
 * something is ends that.
 */
#ifndef CALLS_WORLD_H
#define CALLS_WORLD_H

#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include "program.h"

enum {
	FDS = 4,
	RANGES = 8,
	PINS = 32,
	KEYS = 4,
	CHILDREN = 4,
};

enum fd_kind { FD_CORE, FD_GPU, FD_LSI, FD_DMABUF, FD_KINDS };

/* HOST and VIEW are mapped; BLOCK is GPU memory */
enum range_kind { RANGE_HOST, RANGE_VIEW, RANGE_BLOCK, RANGE_KINDS };

struct range {
	uint64_t at;
	uint64_t size;
};

/* A region of /dev/peerpin, and of which file */
struct pin {
	int fd;
	uint32_t region;
	uint64_t length;
};

/* A memory or a context of /dev/emugpu */
struct key {
	uint32_t id;
	uint32_t va_space;
	uint64_t token;
};

/**
 * struct world - @lock: of all that follows, for the moment in which it is read or changed
 */
struct world {
	pthread_mutex_t lock;
	int fds[FD_KINDS][FDS];
	struct range ranges[RANGE_KINDS][RANGES];
	struct pin pins[PINS];
	struct key keys[KEYS];
	pid_t children[CHILDREN];
	int memory;		/* a file of memory: reading and writing it reaches ours without a signal */
	bool integrated;	/* the GPU is, so that its memory is used where it is mapped */
	int friend[2];		/* sockets on which all workers send each other files */
};

void world_init(struct world *world, const int friend[2]);

int world_fd(struct world *world, enum fd_kind kind, struct choices *c);
/* @fd may be -1 */
void world_put_fd(struct world *world, enum fd_kind kind, struct choices *c, int fd);

struct range world_range(struct world *world, enum range_kind kind, struct choices *c);
/* Returns what was there, which the caller ends. */
struct range world_put_range(struct world *world, enum range_kind kind, struct choices *c, struct range range);

struct pin world_pin(struct world *world, struct choices *c);
/* Returns what was there. */
struct pin world_put_pin(struct world *world, struct choices *c, struct pin pin);

struct key world_key(struct world *world, struct choices *c);
void world_put_key(struct world *world, struct choices *c, struct key key);

/* Remembers @child; one that it takes the place of is killed and waited for. */
void world_put_child(struct world *world, struct choices *c, pid_t child);

/* Memory of any kind, a part of it, or none: what somebody might take for an address */
struct range choose_memory(struct world *world, struct choices *c);

#endif

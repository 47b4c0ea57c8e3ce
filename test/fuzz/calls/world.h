/* SPDX-License-Identifier: MIT */
/*
 * Objects of a worker process: files, memory, pins. The threads of the process share them. Another
 * thread may release or replace an object before its use. Storing an object in a slot releases the
 * old object of the slot.
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

/* HOST and VIEW are CPU mappings; BLOCK is GPU memory */
enum range_kind { RANGE_HOST, RANGE_VIEW, RANGE_BLOCK, RANGE_KINDS };

struct range {
	uint64_t at;
	uint64_t size;
};

/* A region and its file of /dev/peerpin */
struct pin {
	int fd;
	uint32_t region;
	uint64_t length;
};

/* A GPU memory or a context of /dev/emugpu */
struct key {
	uint32_t id;
	uint32_t va_space;
	uint64_t token;
};

/**
 * struct world - @lock: protects each read and change of the other members
 */
struct world {
	pthread_mutex_t lock;
	int fds[FD_KINDS][FDS];
	struct range ranges[RANGE_KINDS][RANGES];
	struct pin pins[PINS];
	struct key keys[KEYS];
	pid_t children[CHILDREN];
	int memory;		/* file of process memory: read() and write() report missing memory without a signal */
	bool integrated;	/* true: the GPU is integrated, so its memory is used through CPU mappings */
	int friend[2];		/* sockets on which all workers send each other files */
};

void world_init(struct world *world, const int friend[2]);

int world_fd(struct world *world, enum fd_kind kind, struct choices *c);
/* @fd: a file, or -1 */
void world_put_fd(struct world *world, enum fd_kind kind, struct choices *c, int fd);

struct range world_range(struct world *world, enum range_kind kind, struct choices *c);
/* Store @range. Returns the old range, which the caller releases. */
struct range world_put_range(struct world *world, enum range_kind kind, struct choices *c, struct range range);

struct pin world_pin(struct world *world, struct choices *c);
/* Store @pin and return the old pin. */
struct pin world_put_pin(struct world *world, struct choices *c, struct pin pin);

struct key world_key(struct world *world, struct choices *c);
void world_put_key(struct world *world, struct choices *c, struct key key);

/* Store @child. Kill and reap the old child. */
void world_put_child(struct world *world, struct choices *c, pid_t child);

/* Choose a range of any memory, a part of a range, or an arbitrary address. */
struct range choose_memory(struct world *world, struct choices *c);

#endif

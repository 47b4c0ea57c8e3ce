/* SPDX-License-Identifier: MIT */
/* Protocol between t_verbs and verbs_server, in two VMs or in one VM, and the memory of both programs. */
#ifndef TEST_VERBS_H
#define TEST_VERBS_H

#include <cuda.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "rc.h"

enum {
	VERBS_PORT = 7777,
	VERBS_ROOM = 1 << 20,		/* size of each memory in bytes */
	VERBS_ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
};

enum verbs_kind { VERBS_HOST, VERBS_GPU, VERBS_GPU_COMBINED };

/** enum verbs_op - commands on the server's memory of one kind */
enum verbs_op {
	VERBS_CONNECT,		/* connect to @id; the answer holds the id of the server */
	VERBS_REGISTER,		/* register and unregister; the registration stays in the cache */
	VERBS_FILL,		/* fill [@at, @at + @length) with the pattern of @seed */
	VERBS_CHECK,		/* check these bytes for the pattern of @seed: -EILSEQ if they differ */
	VERBS_REPLACE,		/* free the memory and allocate zeroed memory at the same address */
};

struct verbs_command {
	enum verbs_op op;
	enum verbs_kind kind;
	uint32_t at, length, seed;
	struct rc_id id;
};

/** struct verbs_answer - @addr: address of the memory; @rkey: result of REGISTER; @pins: number of registrations */
struct verbs_answer {
	int error;
	uint64_t addr;
	uint32_t rkey;
	uint64_t pins;
	struct rc_id id;
};

/* Send exactly @length bytes. Returns 0; -1: the connection is closed. */
static inline int verbs_send(int fd, const void *from, size_t length)
{
	return send(fd, from, length, MSG_NOSIGNAL) == (ssize_t)length ? 0 : -1;
}

static inline int verbs_receive(int fd, void *to, size_t length)
{
	return recv(fd, to, length, MSG_WAITALL) == (ssize_t)length ? 0 : -1;
}

/* ---- memory ------------------------------------------------------------------------ */

/* Map memory, at @at if @at is not NULL. */
static inline char *verbs_map(void *at)
{
	int fixed = at ? MAP_FIXED_NOREPLACE : 0;
	void *p = mmap(at, VERBS_ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static inline char *verbs_alloc(enum verbs_kind kind, void *at)
{
	unsigned int flags = kind == VERBS_GPU_COMBINED ? CU_MEMHOSTALLOC_WRITECOMBINED : 0;
	void *p;

	if (kind == VERBS_HOST)
		return verbs_map(at);
	if (cuMemHostAlloc(&p, VERBS_ROOM, flags))
		return NULL;
	return memset(p, 0, VERBS_ROOM);
}

static inline void verbs_free(enum verbs_kind kind, char *p)
{
	if (kind == VERBS_HOST)
		munmap(p, VERBS_ROOM);
	else
		cuMemFreeHost(p);
}

static inline char verbs_byte(uint32_t seed, uint32_t i)
{
	return (char)((seed + i) * 2654435761u >> 24);
}

static inline void verbs_fill(char *p, uint32_t length, uint32_t seed)
{
	uint32_t i;

	for (i = 0; i < length; i++)
		p[i] = verbs_byte(seed, i);
}

static inline bool verbs_is_filled(const char *p, uint32_t length, uint32_t seed)
{
	uint32_t i = 0;

	while (i < length && p[i] == verbs_byte(seed, i))
		i++;
	return i == length;
}

#endif

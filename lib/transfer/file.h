/* SPDX-License-Identifier: MIT */
/* Open files, and one move of bytes between a file and memory. */
#ifndef PP_FILE_H
#define PP_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include "libpeerpin.h"

/**
 * struct pp_file
 * @plain: descriptor without O_DIRECT
 * @direct: with it; -1: there is none
 * @no_direct: then, why: enum pp_file_reason
 * @memory_align, @offset_align: what @direct takes
 * @refused: device and reason of the last refusal that would come again, else 0
 */
struct pp_file {
	int plain;
	int direct;
	uint32_t no_direct;
	uint32_t memory_align;
	uint32_t offset_align;
	struct pp_cache *views;
	uint64_t mark;
	_Atomic uint64_t refused;
};

/**
 * struct pp_move - one call of pp_file_read() or pp_file_write()
 * @host: it is memory of the process, which needs neither view nor buffer
 * @device: CUDA's number of the GPU; -1 for that
 * @addr: next byte in its memory
 * @offset: next byte of the file
 * @left: bytes
 * @ended: the file did
 */
struct pp_move {
	struct pp_file *file;
	bool write;
	bool host;
	int device;
	uint64_t addr;
	uint64_t offset;
	uint64_t left;
	bool ended;
	struct pp_file_result result;
};

static inline void pp_move_advance(struct pp_move *m, uint64_t n, uint64_t *counter)
{
	m->addr += n;
	m->offset += n;
	m->left -= n;
	*counter += n;
}

/* The first reason counts. */
static inline void pp_move_blame(struct pp_move *m, uint32_t reason, int error)
{
	if (m->result.reason)
		return;
	m->result.reason = reason;
	m->result.error = error;
}

/* Up to @length bytes through host memory; fewer when the file ends. 0 or -errno */
int pp_move_bounce(struct pp_move *m, uint64_t length);

/*
 * Up to @length bytes, which are aligned as the file wants it, by the device
 * itself. Where it cannot, bytes are left and the reason is in @m. 0 or -errno
 */
int pp_move_direct(struct pp_move *m, uint64_t length);

#endif

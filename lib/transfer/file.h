/* SPDX-License-Identifier: MIT */
/* Open files, and moves of bytes between a file and memory. */
#ifndef PP_FILE_H
#define PP_FILE_H

#include <stdatomic.h>
#include <stdbool.h>
#include "libpeerpin.h"

/**
 * struct pp_file - an open file
 * @plain: descriptor without O_DIRECT
 * @direct: descriptor with O_DIRECT, or -1
 * @no_direct: if @direct is -1: the enum pp_file_reason for it
 * @memory_align, @offset_align: alignment that @direct requires
 * @refused: GPU and reason of the last permanent refusal (refusal() in direct.c), or 0
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
 * @host: true for host memory, which needs neither a view nor a buffer
 * @device: CUDA's number of the GPU; -1 for host memory
 * @addr: next byte in memory
 * @offset: next byte of the file
 * @left: bytes left to move
 * @ended: the end of the file was reached
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

/* Only the first reason is kept. */
static inline void pp_move_blame(struct pp_move *m, uint32_t reason, int error)
{
	if (m->result.reason)
		return;
	m->result.reason = reason;
	m->result.error = error;
}

/* Moves @length bytes through host memory, or fewer at the end of the file. Returns 0 or -errno. */
int pp_move_bounce(struct pp_move *m, uint64_t length);

/*
 * Moves up to @length bytes, aligned as the file requires, by the DMA of the disk. If
 * that fails, the remaining bytes are left, with the reason in @m. Returns 0 or -errno.
 */
int pp_move_direct(struct pp_move *m, uint64_t length);

#endif

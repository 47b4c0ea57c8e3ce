/* SPDX-License-Identifier: MIT */
/*
 * Unpacks a captured machine from an untrusted archive. Only files, directories and symbolic links are created, up to
 * the limits below. Links are never followed, so nothing is written outside the directory.
 */
#ifndef UNPACK_H
#define UNPACK_H

#include <stdbool.h>
#include <stddef.h>

enum {
	UNPACK_MAX_ENTRIES = 100000,
	UNPACK_MAX_BYTES = 64 << 20,
	UNPACK_MAX_PATH = 1024,
	UNPACK_MAX_DEPTH = 64,
};

/*
 * @file: the open archive. @signals: -1, or a signalfd(): a signal stops the unpacking. @dir: an open, empty directory.
 * Returns false on error, with the reason in @why.
 */
bool unpack(int file, int signals, int dir, char *why, size_t size);

#endif

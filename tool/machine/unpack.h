/* SPDX-License-Identifier: MIT */
/*
 * Unpacks a captured machine. Who made the archive may be no friend: nothing is written outside the directory, links
 * are made but never followed, there are files, directories and links only, and not too many of them, nor bytes.
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
 * @file: the archive, open; @signals: a signalfd() of what shall end it early, or -1; @dir: an empty directory, open.
 * False: @why tells.
 */
bool unpack(int file, int signals, int dir, char *why, size_t size);

#endif

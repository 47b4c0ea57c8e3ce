/* SPDX-License-Identifier: MIT */
/*
 * What a process publishes of its registration caches when PEERPIN_PUBLISH=1 is
 * in its environment: a memfd of the name PP_PUBLISHED_NAME, which an observer
 * finds in /proc/PID/fd and reads. It ends with the process, however that ends.
 *
 * First this header, then slots, one for each thread and cache; of a slot only
 * the word at @hits_at means something to others. All counts are the process's
 * since it began, over all its caches, and no count but @entries and @bytes ever
 * falls. An observer reads them one by one: they need not be of one moment.
 */
#ifndef PP_PUBLISHED_H
#define PP_PUBLISHED_H

#include <stdatomic.h>
#include <stdint.h>

#define PP_PUBLISHED_NAME "peerpin-cache"

enum {
	PP_PUBLISHED_VERSION = 1,	/* what is added at the end does not change it */
};

/**
 * struct pp_published - the header
 * @magic: PP_PUBLISHED_NAME and zeroes
 * @slots_at, @slot_size: where the first slot begins, and from one to the next
 * @hits_at: where a slot has its count of hits, of 64 bits
 * @slots: how many there are by now. The hits of threads beyond the last that
 *	there may be (4096) are not counted
 * @pid: the process, by the name it has for itself: a child of fork() may have
 *	the memfd as well
 * @hits: of those that have no slot
 * @pin_ns: time spent in registering
 * @entries, @bytes: now
 */
struct pp_published {
	char magic[16];
	uint32_t version;
	uint32_t slots_at;
	uint32_t slot_size;
	uint32_t hits_at;
	_Atomic uint32_t slots;
	uint32_t pid;
	_Atomic uint64_t hits;
	_Atomic uint64_t misses;
	_Atomic uint64_t evictions;
	_Atomic uint64_t revocations;
	_Atomic uint64_t pins;
	_Atomic uint64_t unpins;
	_Atomic uint64_t pin_ns;
	_Atomic uint64_t entries;
	_Atomic uint64_t bytes;
};

_Static_assert(sizeof(struct pp_published) == 112, "as other programs read it");

#endif

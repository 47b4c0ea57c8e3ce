/* SPDX-License-Identifier: MIT */
/*
 * Statistics that a process publishes of its registration caches if its environment
 * has PEERPIN_PUBLISH=1: a memfd named PP_PUBLISHED_NAME, which an observer finds in
 * /proc/PID/fd and reads. It disappears with the process, however the process ends.
 *
 * First comes this header, then slots, one for each thread and cache. In a slot only
 * the word at @hits_at is for observers. All counts are sums over all caches since the
 * process began; only @entries and @bytes ever fall. An observer reads one count after
 * another, so they may be of different moments.
 */
#ifndef PP_PUBLISHED_H
#define PP_PUBLISHED_H

#include <stdatomic.h>
#include <stdint.h>

#define PP_PUBLISHED_NAME "peerpin-cache"

enum {
	PP_PUBLISHED_VERSION = 1,	/* new fields at the end do not change it */
};

/**
 * struct pp_published - the header
 * @magic: PP_PUBLISHED_NAME and zeroes
 * @slots_at, @slot_size: offset of the first slot, and distance between slots
 * @hits_at: offset in a slot of its count of hits (64 bits)
 * @slots: number of slots so far, at most 4096. Threads without a slot do not
 *	publish their hits
 * @pid: the process, as seen in its own pid namespace: a child of fork() may have
 *	the memfd open as well
 * @hits: hits of threads that count in the entries
 * @pin_ns: time spent in registrations
 * @entries, @bytes: present values
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

_Static_assert(sizeof(struct pp_published) == 112, "the format that other programs read");

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Published statistics of a process's registration caches. With PEERPIN_PUBLISH=1 in its
 * environment, a process makes a memfd named PP_PUBLISHED_NAME. An observer finds the
 * memfd in /proc/PID/fd and reads it. The memfd ends with the process.
 *
 * First comes this header, then slots, one for each thread and cache. In a slot only
 * the word at @hits_at is for observers. All counts are sums over all caches since the
 * process began. Only @entries and @bytes can fall. An observer reads one count after
 * another, so two counts may be of different moments.
 */
#ifndef PP_PUBLISHED_H
#define PP_PUBLISHED_H

#include <stdatomic.h>
#include <stdint.h>

#define PP_PUBLISHED_NAME "peerpin-cache"

enum {
	PP_PUBLISHED_VERSION = 1,	/* stays 1 when fields are added at the end */
};

/**
 * struct pp_published - the header
 * @magic: PP_PUBLISHED_NAME and zeroes
 * @slots_at, @slot_size: offset of the first slot, and distance between slots
 * @hits_at: offset of the count of hits (64 bits) in a slot
 * @slots: number of slots so far, at most 4096. A reader (reader.h) without a slot
 *	does not publish its hits
 * @pid: id of the publishing process, in its own pid namespace. A child of fork()
 *	with another pid may have the memfd open, too
 * @hits: hits of threads without a reader
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

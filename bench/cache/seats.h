/* SPDX-License-Identifier: MIT */
/*
 * Hits of the n-th cache of a process. Each thread has a table with a seat for each of at most 1,024 caches that exist
 * at a time.
 */
#ifndef SEATS_H
#define SEATS_H

enum {
	SEATS_SECOND = 65,	/* earlier versions of peerpin had 64 seats */
	SEATS_LAST = 1025,	/* the first cache without a seat */
};

/* ns of a hit in the first cache of the process, in the 65th and in the 1,025th, all of them with one range */
struct seats {
	double first;
	double second;
	double last;
};

/* The process must have no other cache. */
struct seats seats_race(void);

#endif

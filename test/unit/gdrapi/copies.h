/* SPDX-License-Identifier: MIT */
/*
 * Copies by each method that this CPU supports: every alignment and size, on memory between two
 * inaccessible pages. Before the include, define COPIES_WRONG(format, ...), which fails the test, and
 * COPIES_SIZES, the size in bytes up to which all sizes are copied.
 */
#ifndef GDRAPI_COPIES_H
#define GDRAPI_COPIES_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "compat/gdrapi/copy.h"
#include "test/unit/random.h"

enum {
	PAGE = 4096,
	PAGES = 65,
	ROOM = PAGES * PAGE,
	ALIGNMENTS = 64,
	SIZES = COPIES_SIZES,
	MARGIN = 64,
	BIG_COPIES = 300,
	CANARY = 0xEE,
};

static unsigned char *map, *host;
static unsigned char pattern[ROOM], canaries[MARGIN];

static unsigned char *arena(void)
{
	unsigned char *p = mmap(NULL, ROOM + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED || mprotect(p + PAGE, ROOM, PROT_READ | PROT_WRITE) ? NULL : p + PAGE;
}

/* False: no memory */
static bool copies_start(void)
{
	size_t i;

	map = arena();
	host = arena();
	for (i = 0; i < ROOM; i++)
		pattern[i] = (i * 7 + (i >> 6) + (i >> 13)) % CANARY;
	memset(canaries, CANARY, sizeof(canaries));
	return map && host;
}

static size_t before(const unsigned char *base, const unsigned char *p)
{
	return p - base < MARGIN ? p - base : MARGIN;
}

static size_t after(const unsigned char *base, const unsigned char *end)
{
	return base + ROOM - end < MARGIN ? base + ROOM - end : MARGIN;
}

static void clear(const unsigned char *base, unsigned char *to, size_t n)
{
	size_t skip = before(base, to);

	memset(to - skip, CANARY, skip + n + after(base, to + n));
}

static void is_kept(const unsigned char *p, size_t n, const char *where)
{
	if (memcmp(p, canaries, n))
		COPIES_WRONG("a byte %s the range was overwritten", where);
}

static void is_copied(const struct stream *s, const unsigned char *base, const unsigned char *to, size_t n)
{
	size_t skip = before(base, to);

	if (memcmp(to, pattern, n))
		COPIES_WRONG("%s: wrong bytes in a copy of %zu bytes at offset %zu", s->name, n, (size_t)(to - base));
	is_kept(to - skip, skip, "before");
	is_kept(to + n, after(base, to + n), "behind");
}

static void both_ways(const struct stream *s, unsigned char *in_map, unsigned char *in_host, size_t n)
{
	memcpy(in_host, pattern, n);
	clear(map, in_map, n);
	gdr_stream_to(s, in_map, in_host, n);
	is_copied(s, map, in_map, n);
	memcpy(in_map, pattern, n);
	clear(host, in_host, n);
	gdr_stream_from(s, in_host, in_map, n);
	is_copied(s, host, in_host, n);
}

/* ---- each variant --------------------------------------------------------------------- */

static void in_the_middle(const struct stream *s)
{
	static const unsigned int host_offsets[] = { 0, 1, 4, 15, 16, 33 };
	size_t offset, i, n;

	for (offset = 0; offset < ALIGNMENTS; offset++)
		for (i = 0; i < sizeof(host_offsets) / sizeof(*host_offsets); i++)
			for (n = 0; n <= SIZES; n++)
				both_ways(s, map + PAGE + offset, host + PAGE + host_offsets[i], n);
}

/* Copy at both ends of the memory: an access one byte outside raises SIGSEGV. */
static void at_both_ends(const struct stream *s)
{
	size_t n;

	for (n = 0; n <= 2 * SIZES; n++) {
		both_ways(s, map, host, n);
		both_ways(s, map + ROOM - n, host + ROOM - n, n);
		both_ways(s, map, host + ROOM - n, n);
		both_ways(s, map + ROOM - n, host, n);
	}
}

static void big(const struct stream *s)
{
	uint64_t seed = random_seed();
	unsigned int i;

	for (i = 0; i < BIG_COPIES; i++) {
		size_t n = random_below(&seed, ROOM), left = ROOM - n;

		both_ways(s, map + random_below(&seed, left), host + random_below(&seed, left), n);
	}
}

/* @emulates: NULL, or whether the test emulates the instructions of a method that this CPU lacks */
static void every_way(void (*test)(const struct stream *s), bool (*emulates)(const struct stream *s))
{
	const struct stream *s;

	for (s = gdr_streams; s->name; s++)
		if (s->usable() || (emulates && emulates(s)))
			test(s);
		else
			printf("# this CPU does not support %s\n", s->name);
}

#endif

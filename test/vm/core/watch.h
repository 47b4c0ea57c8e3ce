/* SPDX-License-Identifier: MIT */
/* Watches of host memory, and memory with watches. Each call returns 0 or -errno. */
#ifndef TEST_WATCH_IOCTL_H
#define TEST_WATCH_IOCTL_H

#include <stdbool.h>

#include "pin.h"
#include "test/vm/harness/vmtest.h"

enum {
	WATCH_PAGE = 4096,
	WATCH_BYTES = 8 * WATCH_PAGE,	/* watched bytes of struct span, and bytes on each side */
};

static inline int watch_at(int fd, const volatile void *at, uint64_t length, struct peerpin_watch *w)
{
	*w = (struct peerpin_watch){ .size = sizeof(*w), .addr = (uintptr_t)at, .length = length };
	return ioctl(fd, PEERPIN_IOC_WATCH, w) ? -errno : 0;
}

static inline int unwatch(int fd, uint32_t watch)
{
	struct peerpin_unwatch c = { .size = sizeof(c), .watch = watch };

	return ioctl(fd, PEERPIN_IOC_UNWATCH, &c) ? -errno : 0;
}

static inline volatile const uint32_t *words_map(int fd)
{
	void *p = mmap(NULL, EPOCH_BYTES, PROT_READ, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

/**
 * struct span - three ranges of WATCH_BYTES with a watch each
 * @at: the middle range
 */
struct span {
	char *at;
	struct peerpin_watch before, middle, after;
};

static int watch_fd;
static volatile const uint32_t *watch_words;

static inline bool watch_lives(const struct peerpin_watch *w)
{
	return watch_words[w->out_slot] == w->out_epoch;
}

static inline char *watch_map(int flags, int file)
{
	char *p = mmap(NULL, 3 * WATCH_BYTES, PROT_READ | PROT_WRITE, flags, file, 0);

	return p == MAP_FAILED ? NULL : p;
}

static inline char *watch_anonymous(void)
{
	return watch_map(MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1);
}

/* Watch three ranges at @p. */
static inline void span_watch(char *p, struct span *s)
{
	s->at = p + WATCH_BYTES;
	EXPECT(p, "mmap: %d", errno);
	EXPECT(!watch_at(watch_fd, p, WATCH_BYTES, &s->before), "watch: %d", errno);
	EXPECT(!watch_at(watch_fd, p + WATCH_BYTES, WATCH_BYTES, &s->middle), "watch: %d", errno);
	EXPECT(!watch_at(watch_fd, p + 2 * WATCH_BYTES, WATCH_BYTES, &s->after), "watch: %d", errno);
	EXPECT(watch_lives(&s->before) && watch_lives(&s->middle) && watch_lives(&s->after), "a new word has changed");
}

static inline void span_unwatch(const struct span *s)
{
	EXPECT(!unwatch(watch_fd, s->before.out_watch) && !unwatch(watch_fd, s->middle.out_watch) &&
	       !unwatch(watch_fd, s->after.out_watch), "unwatch: %d", errno);
}

#endif

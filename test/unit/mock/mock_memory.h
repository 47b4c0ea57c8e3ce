/* SPDX-License-Identifier: MIT */
/*
 * Mock memory that can be allocated, freed and registered, for the registration cache. A page of 4
 * KiB belongs to one allocation or to none. The numbers of allocations are never used twice.
 */
#ifndef MOCK_MEMORY_H
#define MOCK_MEMORY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/queue.h>
#include "libpeerpin.h"

enum {
	MOCK_PAGE = 4096,
	MOCK_PAGES = 256,
};

#define MOCK_BASE 0x7000000000ull

/** struct mock_reg - a registration, kept after its unpin so that tests can inspect it */
struct mock_reg {
	uint64_t addr;
	uint64_t length;
	uint64_t owner[MOCK_PAGES];	/* allocation of each page at the time of the registration */
	atomic_bool valid;
	bool counted;			/* true: counted in mock_memory.pinned */
	int unpinned;
	LIST_ENTRY(mock_reg) link;
};

/**
 * struct mock_memory
 * @owner: allocation of each page; 0: no allocation
 * @live: registrations not yet unpinned
 * @dead: unpinned registrations
 * @pinned: number of registered bytes
 * @capacity: maximum of @pinned; pins beyond it get -ENOMEM; 0: no limit
 * @fail: result of the next @fail_count pins
 * @on_pin: called before each pin, with no lock held; NULL: no call
 * @on_unpin: called before each unpin, with no lock held; NULL: no call
 * @on_pinned: called after each successful pin, with no lock held; NULL: no call
 */
struct mock_memory {
	pthread_mutex_t lock;
	uint64_t owner[MOCK_PAGES];
	uint64_t last_owner;
	LIST_HEAD(, mock_reg) live;
	LIST_HEAD(, mock_reg) dead;
	uint64_t pinned;
	uint64_t capacity;
	int pins;
	int unpins;
	int attempts;
	int fail;
	int fail_count;
	void (*on_pin)(uint64_t addr, uint64_t length);
	void (*on_pinned)(uint64_t addr);
	void (*on_unpin)(uint64_t addr);
};

void mock_memory_init(struct mock_memory *m);
void mock_memory_destroy(struct mock_memory *m);

/* mock_alloc(): make one allocation of pages [@first, @first + @count). mock_free(): free these pages. */
void mock_alloc(struct mock_memory *m, unsigned int first, unsigned int count);
void mock_free(struct mock_memory *m, unsigned int first, unsigned int count);

void *mock_at(unsigned int page);
unsigned int mock_page_of(uint64_t addr);

/* Callbacks for a cache; their argument is the struct mock_memory. */
extern const struct pp_cache_ops mock_host_ops;		/* has @valid, but no @grow */
extern const struct pp_cache_ops mock_gpu_ops;		/* has @grow, to whole allocations */
extern const struct pp_cache_ops mock_plain_ops;	/* has neither @grow nor @valid */

#endif

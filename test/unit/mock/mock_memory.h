/* SPDX-License-Identifier: MIT */
/*
 * Make-believe memory that can be allocated, freed and registered, for the
 * registration cache. Pages are 4 KiB; each belongs to an allocation, whose
 * number is never used twice, or to none.
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

/** struct mock_reg - a registration; stays after its end, to be inspected */
struct mock_reg {
	uint64_t addr;
	uint64_t length;
	uint64_t owner[MOCK_PAGES];	/* of each page, when it was made */
	atomic_bool valid;
	bool counted;			/* in mock_memory.pinned */
	int unpinned;
	LIST_ENTRY(mock_reg) link;
};

/**
 * struct mock_memory
 * @owner: allocation of each page, 0 for none
 * @live: registrations not yet unpinned
 * @dead: the others
 * @pinned: bytes registered
 * @capacity: -ENOMEM beyond that; 0: no limit
 * @fail: what the next @fail_count pins return
 * @on_pin, @on_unpin: NULL, or called first, with no lock held
 * @on_pinned: NULL, or called last, of a pin that succeeded, so
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

/* Pages [@first, @first + @count) become one allocation, or none. */
void mock_alloc(struct mock_memory *m, unsigned int first, unsigned int count);
void mock_free(struct mock_memory *m, unsigned int first, unsigned int count);

void *mock_at(unsigned int page);
unsigned int mock_page_of(uint64_t addr);

/* Callbacks of a cache whose argument is the memory. */
extern const struct pp_cache_ops mock_host_ops;		/* no grow, valid */
extern const struct pp_cache_ops mock_gpu_ops;		/* whole allocations */
extern const struct pp_cache_ops mock_plain_ops;	/* neither */

#endif

// SPDX-License-Identifier: MIT
/*
 * A red-black tree of ranges under a readers-writer lock. References are atomic, so a hit takes the lock for the
 * look-up only, and a put takes no lock. It evicts nothing: for eviction a hit would have to write an LRU list.
 */
#include <pthread.h>
#include <stdlib.h>
#include "item.h"
#include "rb.h"

struct node {
	struct rb_node rb;
	struct item item;
};

struct rwtree {
	pthread_rwlock_t lock;
	struct rb rb;
	unsigned int count;
	struct node *nodes;
	uint32_t *words;
};

static void *make(unsigned int count, unsigned int limit)
{
	struct rwtree *t = calloc(1, sizeof(*t));

	if (!t || limit)
		abort();
	t->nodes = calloc(count, sizeof(*t->nodes));
	t->words = calloc(count, sizeof(*t->words));
	if (!t->nodes || !t->words)
		abort();
	pthread_rwlock_init(&t->lock, NULL);
	return t;
}

static void drop(void *cache)
{
	struct rwtree *t = cache;

	pthread_rwlock_destroy(&t->lock);
	free(t->nodes);
	free(t->words);
	free(t);
}

static void use(void *cache, const struct range *ranges, unsigned int count)
{
	struct rwtree *t = cache;
	struct node *n;

	pthread_rwlock_wrlock(&t->lock);
	for (; count--; ranges++) {
		n = &t->nodes[t->count];
		n->rb.start = n->item.start = ranges->start;
		n->rb.end = n->item.end = ranges->start + ranges->length;
		n->item.word = &t->words[t->count++];
		rb_insert(&t->rb, &n->rb);
	}
	pthread_rwlock_unlock(&t->lock);
}

static struct item *get(struct rwtree *t, uint64_t addr)
{
	struct item *i = NULL;
	struct node *n;

	pthread_rwlock_rdlock(&t->lock);
	n = (struct node *)rb_find(&t->rb, addr);
	if (n && item_covers(&n->item, addr)) {
		i = &n->item;
		__atomic_fetch_add(&i->users, 1, __ATOMIC_RELAXED);
	}
	pthread_rwlock_unlock(&t->lock);
	return i;
}

static unsigned int hits(void *cache, const struct lookup *lookups, unsigned int count)
{
	struct rwtree *t = cache;
	unsigned int good = 0;
	struct item *i;

	for (; count--; lookups++) {
		i = get(t, lookups->addr);
		if (!i)
			continue;
		good += item_valid(i);
		item_used();
		__atomic_fetch_sub(&i->users, 1, __ATOMIC_RELEASE);
	}
	return good;
}

const struct contender baseline_rwtree = {
	.name = "rwlock + tree", .shared = true, .make = make, .drop = drop, .use = use, .hits = hits,
};

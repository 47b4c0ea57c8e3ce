// SPDX-License-Identifier: MIT
/*
 * A typical registration cache: a red-black tree of ranges and an LRU list of idle ranges, under one mutex. Get and put
 * take the mutex.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/queue.h>
#include "item.h"
#include "rb.h"

enum { WORDS = 1 << 20 };	/* more than the number of live nodes in any benchmark */

struct node {
	struct rb_node rb;
	TAILQ_ENTRY(node) idle;
	const uint32_t *word;
	uint32_t value;
	uint32_t users;
};

/**
 * struct tree - the cache
 * @count: number of nodes
 * @made: number of nodes made so far; each got a new word
 */
struct tree {
	pthread_mutex_t lock;
	struct rb rb;
	TAILQ_HEAD(, node) idle;
	unsigned int count;
	unsigned int limit;
	unsigned int made;
	uint32_t *words;
};

static void *make(unsigned int count, unsigned int limit)
{
	struct tree *t = calloc(1, sizeof(*t));

	if (!t || count > WORDS)
		abort();
	t->words = calloc(WORDS, sizeof(*t->words));
	if (!t->words)
		abort();
	t->limit = limit;
	pthread_mutex_init(&t->lock, NULL);
	TAILQ_INIT(&t->idle);
	return t;
}

static void evict(struct tree *t, struct node *n)
{
	TAILQ_REMOVE(&t->idle, n, idle);
	rb_remove(&t->rb, &n->rb);
	t->count--;
	free(n);
}

static void drop(void *cache)
{
	struct tree *t = cache;
	struct node *n;

	while ((n = TAILQ_FIRST(&t->idle)))
		evict(t, n);
	pthread_mutex_destroy(&t->lock);
	free(t->words);
	free(t);
}

static struct node *insert(struct tree *t, const struct range *range)
{
	struct node *n = malloc(sizeof(*n));

	if (!n)
		abort();
	*n = (struct node){
		.rb.start = range->start, .rb.end = range->start + range->length,
		.word = &t->words[t->made++ % WORDS],
	};
	rb_insert(&t->rb, &n->rb);
	if (t->limit && t->count == t->limit)
		evict(t, TAILQ_FIRST(&t->idle));
	t->count++;
	return n;
}

static struct node *get(struct tree *t, const struct range *range)
{
	struct node *n;

	pthread_mutex_lock(&t->lock);
	n = (struct node *)rb_find(&t->rb, range->start);
	if (!n)
		n = insert(t, range);
	else if (!n->users)
		TAILQ_REMOVE(&t->idle, n, idle);
	n->users++;
	pthread_mutex_unlock(&t->lock);
	return n;
}

static void put(struct tree *t, struct node *n)
{
	pthread_mutex_lock(&t->lock);
	if (!--n->users)
		TAILQ_INSERT_TAIL(&t->idle, n, idle);
	pthread_mutex_unlock(&t->lock);
}

static bool is_valid(const struct node *n)
{
	return __atomic_load_n(n->word, __ATOMIC_ACQUIRE) == n->value;
}

static void use(void *cache, const struct range *ranges, unsigned int count)
{
	for (; count--; ranges++)
		put(cache, get(cache, ranges));
}

static unsigned int hits(void *cache, const struct lookup *lookups, unsigned int count)
{
	unsigned int good = 0;
	struct range asked;
	struct node *n;

	for (; count--; lookups++) {
		asked = (struct range){ lookups->addr, ASKED };
		n = get(cache, &asked);
		good += asked.start + asked.length <= n->rb.end && is_valid(n);
		put(cache, n);
	}
	return good;
}

/* As in hash.c: starts are even, so the last bit of a start does not change the next address. */
static unsigned int chain(void *cache, const struct lookup *lookups, unsigned int count)
{
	unsigned int good = 0;
	struct range asked;
	uint64_t last = 0;
	struct node *n;

	for (; count--; lookups++) {
		asked = (struct range){ lookups->addr + (last & 1), ASKED };
		n = get(cache, &asked);
		last = n->rb.start;
		good += asked.start + asked.length <= n->rb.end && is_valid(n);
		put(cache, n);
	}
	return good;
}

const struct contender baseline_tree = {
	.name = "mutex + tree + LRU", .shared = true, .make = make, .drop = drop, .use = use, .hits = hits, .chain = chain,
};

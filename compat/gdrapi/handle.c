// SPDX-License-Identifier: MIT
/*
 * Programs for gdrcopy read the struct that a gdr_mh_t points to. So a name is a readable address,
 * but the library never reads there: it computes table, handle and number of the pin from the address.
 * Each pin has an address of its own, so an old or made-up name is detected.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include "handle.h"
#include "lib/cuda/process.h"
#include "refuse.h"

enum {
	PINS = UINT16_MAX + 1,	/* names of a handle; none of pin 0 */
	FIRST_COUNT = 16,	/* handles of the first table of a struct gdr; each further table has twice as many */
	MAX_DOUBLINGS = 8,
};

static _Atomic(struct gdr_table *) tables;	/* all tables of this process, the newest first */

int gdr_check(const struct gdr *g)
{
	if (!g || g->self != g)
		return gdr_refuse(-EINVAL, "the gdr_t is not open");
	/* check before any lock is taken: a thread of the parent may have held the lock at fork() */
	if (pp_process_is(g->mark))
		return 0;
	return gdr_refuse(-EACCES, "the gdr_t belongs to the parent process: call gdr_open() after fork()");
}

static int not_pinned(void)
{
	return gdr_refuse(-EINVAL, "the gdr_mh_t is not pinned through this gdr_t");
}

int gdr_handle_lock(struct gdr *g, gdr_mh_t mh, struct gdr_handle **out)
{
	struct gdr_handle *h = gdr_handle_of(mh);
	int ret = gdr_check(g);

	if (ret)
		return ret;
	/* a thread of the parent may have held the lock at fork() */
	if (!h || h->table->mark != g->mark)
		return not_pinned();
	pthread_mutex_lock(&h->lock);
	if (h->owner != g || gdr_handle_of(mh) != h) {
		pthread_mutex_unlock(&h->lock);
		return not_pinned();
	}
	*out = h;
	return 0;
}

void gdr_handle_unlock(struct gdr_handle *h)
{
	pthread_mutex_unlock(&h->lock);
}

gdr_mh_t gdr_handle_name(const struct gdr_handle *h)
{
	const struct gdr_table *t = h->table;

	return (gdr_mh_t) { .h = t->names + atomic_load(&h->times) * t->count + (size_t)(h - t->handles) };
}

struct gdr_handle *gdr_handle_of(gdr_mh_t mh)
{
	struct gdr_handle *h;
	struct gdr_table *t;
	size_t offset, pin;

	for (t = atomic_load_explicit(&tables, memory_order_acquire); t; t = t->next) {
		offset = mh.h - t->names;
		pin = offset >> __builtin_ctzl(t->count);
		if (!pin || pin >= PINS)
			continue;
		h = &t->handles[offset & (t->count - 1)];
		return pin == atomic_load(&h->times) ? h : NULL;
	}
	return NULL;
}

static int names_reserve(struct gdr_table *t)
{
	void *at = mmap(NULL, PINS * t->count + GDR_NAME_READABLE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			-1, 0);

	if (at == MAP_FAILED)
		return -1;
	t->names = (uintptr_t)at;
	return 0;
}

static void table_publish(struct gdr_table *t)
{
	t->next = atomic_load(&tables);
	while (!atomic_compare_exchange_weak(&tables, &t->next, t))
		;
}

static struct gdr_table *table_new(struct gdr *g, size_t count)
{
	struct gdr_table *t = calloc(1, sizeof(*t));
	size_t i;

	if (!t)
		return NULL;
	t->count = count;
	t->mark = g->mark;
	t->owner = g;
	t->handles = calloc(count, sizeof(*t->handles));
	if (!t->handles || names_reserve(t))
		goto err_table;
	for (i = 0; i < count; i++) {
		t->handles[i].table = t;
		pthread_mutex_init(&t->handles[i].lock, NULL);
	}
	table_publish(t);
	return t;
err_table:
	free(t->handles);
	free(t);
	return NULL;
}

/* A table of the parent process is not taken: its locks may have been held at fork(). */
static struct gdr_table *table_again(struct gdr *g)
{
	struct gdr *none;
	struct gdr_table *t;

	for (t = atomic_load(&tables); t; t = t->next) {
		none = NULL;
		if (t->mark == g->mark && atomic_compare_exchange_strong(&t->owner, &none, g))
			return t;
	}
	return NULL;
}

static void unused_add(struct gdr *g, struct gdr_handle *h)
{
	/* one more pin would wrap @times and make the first name valid again */
	if (atomic_load(&h->times) == PINS - 1)
		return;
	h->next_unused = g->unused;
	g->unused = h;
}

static bool table_get(struct gdr *g)
{
	struct gdr_table *t = table_again(g);
	size_t i;

	if (!t)
		t = table_new(g, FIRST_COUNT << (g->tables < MAX_DOUBLINGS ? g->tables : MAX_DOUBLINGS));
	if (!t)
		return false;
	g->tables++;
	for (i = t->count; i; i--)
		unused_add(g, &t->handles[i - 1]);
	return true;
}

struct gdr_handle *gdr_handle_get(struct gdr *g)
{
	struct gdr_handle *h;

	pthread_mutex_lock(&g->lock);
	while (!g->unused && table_get(g))
		;
	h = g->unused;
	if (h)
		g->unused = h->next_unused;
	pthread_mutex_unlock(&g->lock);
	return h;
}

void gdr_handle_put(struct gdr *g, struct gdr_handle *h)
{
	pthread_mutex_lock(&g->lock);
	unused_add(g, h);
	pthread_mutex_unlock(&g->lock);
}

int gdr_handles_end(struct gdr *g, int (*end)(struct gdr_handle *h))
{
	struct gdr_table *t;
	int ret = 0, error;
	size_t i;

	for (t = atomic_load(&tables); t; t = t->next) {
		if (atomic_load(&t->owner) != g)
			continue;
		for (i = 0; i < t->count; i++) {
			error = t->handles[i].owner ? end(&t->handles[i]) : 0;
			ret = ret ? ret : error;
		}
		atomic_store(&t->owner, NULL);
	}
	return ret;
}

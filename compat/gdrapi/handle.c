// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include "handle.h"
#include "lib/cuda/process.h"
#include "refuse.h"

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
	if (!h)
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

static struct gdr_handle *handle_new(uint64_t mark)
{
	struct gdr_handle *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	pthread_mutex_init(&h->lock, NULL);
	h->mark = mark;
	return h;
}

struct gdr_handle *gdr_handle_get(struct gdr *g)
{
	struct gdr_handle *h;

	pthread_mutex_lock(&g->lock);
	h = g->unused;
	if (h) {
		g->unused = h->next_unused;
	} else {
		h = handle_new(g->mark);
		if (h) {
			h->next = g->all;
			g->all = h;
		}
	}
	pthread_mutex_unlock(&g->lock);
	return h;
}

void gdr_handle_put(struct gdr *g, struct gdr_handle *h)
{
	/* one more pin would wrap @times and make the first handle valid again */
	if (atomic_load(&h->times) == UINT16_MAX)
		return;
	pthread_mutex_lock(&g->lock);
	h->next_unused = g->unused;
	g->unused = h;
	pthread_mutex_unlock(&g->lock);
}

// SPDX-License-Identifier: MIT
#include <errno.h>
#include <pthread.h>
#include <search.h>
#include <stdlib.h>
#include <time.h>
#include "lib/cuda/process.h"
#include "lib/sys/probe.h"
#include "lib/sys/sys.h"
#include "lib/sys/thread.h"
#include "ranges.h"

enum {
	PERIOD_MS = 20,		/* shortest pause between two scans of the words */
	LOOK_SHARE = 100,	/* the scans take at most 1 / LOOK_SHARE of a processor's time */
};

/** struct registered - @watches: @watched is a watch; false once the range has changed */
struct registered {
	const struct ibv_mr *mr;
	struct pp_watched watched;
	bool watches;
};

static struct pp_ctx *ctx;
static uint64_t mark;

/* Protects all below. The tree is of struct registered, by @mr. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake;
static void *tree;
static uint32_t count;
static uint64_t look_ns;	/* processor time of the last look, or less */
static bool ending;

int pp_ranges_init(void)
{
	int ret = pp_open(&ctx);

	if (ret)
		return ret;
	ret = pp_watch_probe(ctx);
	if (ret) {
		pp_close(ctx);
		return ret;
	}
	mark = pp_process_mark();
	pthread_mutex_init(&lock, NULL);	/* a child of fork() may inherit a lock held by a thread of the parent */
	pp_cond_init(&wake);
	return 0;
}

bool pp_ranges_are_ours(void)
{
	return mark == pp_process_mark();
}

int pp_ranges_watch(const void *addr, size_t length, struct pp_watched *out, struct pp_why *why)
{
	int ret;

	do
		ret = pp_watch(ctx, addr, length, out, why);
	while (ret == -EINTR);
	return ret;
}

/* ---- the tree: with the lock held ------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct registered *x = a, *y = b;

	return (x->mr > y->mr) - (x->mr < y->mr);
}

static struct registered *find(const struct ibv_mr *mr)
{
	struct registered **found = tfind(&(struct registered){ .mr = mr }, &tree, compare);

	return found ? *found : NULL;
}

static int add(const struct ibv_mr *mr, const struct pp_watched *watched)
{
	struct registered *r = malloc(sizeof(*r));

	if (!r)
		return -ENOMEM;
	*r = (struct registered){ .mr = mr, .watched = *watched, .watches = true };
	if (!tsearch(r, &tree, compare)) {
		free(r);
		return -ENOMEM;
	}
	if (!count++)
		pthread_cond_signal(&wake);
	return 0;
}

int pp_ranges_keep(const struct ibv_mr *mr, const struct pp_watched *watched)
{
	bool kept;
	int ret;

	pthread_mutex_lock(&lock);
	kept = find(mr);	/* by a function of libibverbs that calls another of these functions */
	ret = kept ? 0 : add(mr, watched);
	pthread_mutex_unlock(&lock);
	if (kept || ret)
		pp_ranges_drop(watched);
	return ret;
}

void pp_ranges_drop(const struct pp_watched *watched)
{
	pp_unwatch(ctx, watched);
}

bool pp_ranges_take(const struct ibv_mr *mr, struct pp_watched *out)
{
	struct registered *r;
	bool watches = false;

	pthread_mutex_lock(&lock);
	r = find(mr);
	if (r) {
		watches = r->watches;
		*out = r->watched;
		tdelete(r, &tree, compare);
		count--;
	}
	pthread_mutex_unlock(&lock);
	free(r);
	return watches;
}

/* ---- the thread -------------------------------------------------------------------------- */

bool pp_ranges_wait(void)
{
	struct timespec until;
	bool goes_on;

	pthread_mutex_lock(&lock);
	while (!ending && !count)
		pthread_cond_wait(&wake, &lock);
	until = pp_time_after_ms(PERIOD_MS + (unsigned int)(look_ns * LOOK_SHARE / 1000000));
	while (!ending && !pthread_cond_timedwait(&wake, &lock, &until))
		;
	goes_on = !ending;
	pthread_mutex_unlock(&lock);
	return goes_on;
}

struct look {
	struct pp_range *out;
	uint32_t count;
};

static void look_at(const void *node, VISIT order, void *arg)
{
	struct registered *r = *(struct registered *const *)node;
	struct look *look = arg;

	if ((order != postorder && order != leaf) || !r->watches || look->count == PP_RANGES_BATCH)
		return;
	if (pp_watch_valid(ctx, &r->watched))
		return;
	pp_unwatch(ctx, &r->watched);
	r->watches = false;
	look->out[look->count++] = (struct pp_range){ r->watched.addr, r->watched.addr + r->watched.length };
}

/*
 * Not the time of day: if another thread has the processor during a look of microseconds, the next look must not be
 * seconds later.
 */
static uint64_t processor_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* In a VM this time includes time in which other VMs ran. So the time of one look counts at most twice that of the last. */
static uint64_t believed_ns(uint64_t ns)
{
	uint64_t most = 2 * look_ns + 1000;

	return ns < most ? ns : most;
}

uint32_t pp_ranges_changed(struct pp_range *out)
{
	struct look look = { .out = out };
	uint64_t before;

	pthread_mutex_lock(&lock);
	before = processor_ns();
	twalk_r(tree, look_at, &look);
	look_ns = believed_ns(processor_ns() - before);
	pthread_mutex_unlock(&lock);
	return look.count;
}

void pp_ranges_end(void)
{
	pthread_mutex_lock(&lock);
	ending = true;
	pthread_cond_signal(&wake);
	pthread_mutex_unlock(&lock);
}

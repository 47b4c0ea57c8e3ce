// SPDX-License-Identifier: MIT
/*
 * The lock is not held while a subscriber is called, because the subscriber may add and
 * remove subscribers, free memory, and fork. @running counts the calls of a subscriber
 * in progress. While @running is not 0, the subscriber stays in the list, so its @next
 * can be read after the call.
 */
#include "subscriber.h"

#include "lib/sys/cancel.h"
#include "going.h"
#include "libpeerpin-hook.h"
#include "order.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#define PUBLIC __attribute__((visibility("default")))

struct subscriber {
	struct subscriber *next;
	void (*gone)(void *arg, uint64_t addr, uint64_t length);
	void *arg;
	unsigned int running;	/* calls of @gone in progress */
	unsigned int waiting;	/* threads in pp_hook_remove() */
	bool removed;
};

/* All subscribers, in the order in which they were added; protected by @lock. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t ended;	/* signalled when the last call of a removed subscriber has returned */
	struct subscriber *first;
	unsigned int process;	/* number of forks between the first process and this one */
} list = { .lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER };

_Atomic unsigned int pp_subscriber_count;
static __thread unsigned int depth;	/* calls of subscribers in progress in this thread */

/*
 * Called in a child of fork(). Another thread of the parent may have been changing the
 * list, so the child never reads the old list. The memory of the old list is lost.
 */
static void start_empty(void)
{
	list.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	list.ended = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
	list.first = NULL;
	list.process++;
	pp_going_forget();
	atomic_store_explicit(&pp_subscriber_count, 0, memory_order_relaxed);
}

static void __attribute__((constructor)) watch_forks(void)
{
	pthread_atfork(NULL, NULL, start_empty);
}

/* Frees a removed subscriber if no call and no waiting thread uses it. */
static void settle(struct subscriber *s)
{
	struct subscriber **at = &list.first;

	if (!s->removed || s->running)
		return;
	if (s->waiting) {
		pthread_cond_broadcast(&list.ended);
		return;
	}
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	free(s);
}

/* Returns the next subscriber; NULL at the end of the list. If @gone forked, returns NULL in the child. */
static struct subscriber *call(struct subscriber *s, uint64_t addr, uint64_t length)
{
	const unsigned int process = list.process;
	struct subscriber *next;

	if (s->removed)
		return s->next;
	s->running++;
	pthread_mutex_unlock(&list.lock);
	s->gone(s->arg, addr, length);
	pthread_mutex_lock(&list.lock);
	if (list.process != process)
		return NULL;
	next = s->next;
	s->running--;
	settle(s);
	return next;
}

void pp_tell(uint64_t addr, uint64_t length)
{
	PP_NO_CANCEL;
	const int error = errno;
	struct subscriber *s;

	depth++;
	pthread_mutex_lock(&list.lock);
	for (s = list.first; s; )
		s = call(s, addr, length);
	pthread_mutex_unlock(&list.lock);
	depth--;
	errno = error;
}

static struct subscriber *find(void (*gone)(void *, uint64_t, uint64_t), const void *arg)
{
	struct subscriber *s = list.first;

	while (s && (s->removed || s->gone != gone || s->arg != arg))
		s = s->next;
	return s;
}

static void append(struct subscriber *s)
{
	struct subscriber **at = &list.first;

	pthread_mutex_lock(&list.lock);
	while (*at)
		at = &(*at)->next;
	*at = s;
	atomic_fetch_add_explicit(&pp_subscriber_count, 1, memory_order_relaxed);
	pthread_mutex_unlock(&list.lock);
}

PUBLIC int pp_hook_add(void (*gone)(void *arg, uint64_t addr, uint64_t length), void *arg)
{
	struct subscriber *s;

	if (!gone)
		return -EINVAL;
	if (!pp_order_is_right())
		return -EOPNOTSUPP;
	s = malloc(sizeof(*s));
	if (!s)
		return -ENOMEM;
	*s = (struct subscriber){ .gone = gone, .arg = arg };
	append(s);
	return 0;
}

static int withdraw(struct subscriber *s)
{
	int ret = 0;

	s->removed = true;
	atomic_fetch_sub_explicit(&pp_subscriber_count, 1, memory_order_relaxed);
	if (depth) {
		ret = s->running ? -EBUSY : 0;
	} else {
		s->waiting++;
		while (s->running)
			pthread_cond_wait(&list.ended, &list.lock);
		s->waiting--;
	}
	settle(s);
	return ret;
}

PUBLIC int pp_hook_remove(void (*gone)(void *arg, uint64_t addr, uint64_t length), void *arg)
{
	PP_NO_CANCEL;
	struct subscriber *s;
	int ret = -ENOENT;

	pthread_mutex_lock(&list.lock);
	s = find(gone, arg);
	if (s)
		ret = withdraw(s);
	pthread_mutex_unlock(&list.lock);
	return ret;
}

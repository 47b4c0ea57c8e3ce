// SPDX-License-Identifier: MIT
#include "going.h"

#include "libpeerpin-hook.h"

#include <pthread.h>
#include <stdbool.h>

enum {
	PLACES = 64,
	EVERYTHING = PLACES,	/* returned if no place is left: counts as a free of all memory */
};

/* Frees in progress; under @lock. Static, not on the stacks of threads: a thread may end inside the driver. */
static struct {
	pthread_mutex_t lock;
	struct {
		uint64_t addr;
		uint64_t length;	/* 0: free */
	} places[PLACES];
	unsigned int everything;
} going = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int take_place(void)
{
	int i = 0;

	while (i < PLACES && going.places[i].length)
		i++;
	return i;
}

int pp_going_begin(uint64_t addr, uint64_t length)
{
	int i;

	if (!length)
		return PP_GOING_NOTHING;
	pthread_mutex_lock(&going.lock);
	i = take_place();
	if (i == EVERYTHING) {
		going.everything++;
	} else {
		going.places[i].addr = addr;
		going.places[i].length = length;
	}
	pthread_mutex_unlock(&going.lock);
	return i;
}

void pp_going_end(int at)
{
	if (at == PP_GOING_NOTHING)
		return;
	pthread_mutex_lock(&going.lock);
	/* @everything is 0 if this process was forked after pp_going_begin(): see pp_going_forget() */
	if (at == EVERYTHING && going.everything)
		going.everything--;
	else if (at != EVERYTHING)
		going.places[at].length = 0;
	pthread_mutex_unlock(&going.lock);
}

void pp_going_forget(void)
{
	int i;

	going.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	going.everything = 0;
	for (i = 0; i < PLACES; i++)
		going.places[i].length = 0;
}

static bool overlaps(int i, uint64_t addr, uint64_t length)
{
	uint64_t first = going.places[i].addr;

	if (!going.places[i].length)
		return false;
	return addr < first ? first - addr < length : addr - first < going.places[i].length;
}

__attribute__((visibility("default"))) int pp_hook_is_going(uint64_t addr, uint64_t length)
{
	int found, i;

	pthread_mutex_lock(&going.lock);
	found = going.everything > 0;
	for (i = 0; i < PLACES && !found; i++)
		found = overlaps(i, addr, length);
	pthread_mutex_unlock(&going.lock);
	return found;
}

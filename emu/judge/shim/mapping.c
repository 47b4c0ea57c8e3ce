// SPDX-License-Identifier: MIT
#include <pthread.h>
#include <stdint.h>

#include "mapping.h"

enum { MAPPINGS_MAX = 256 };

struct mapping {
	uintptr_t start;
	uintptr_t end;	/* 0: unused */
	bool tested;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct mapping mappings[MAPPINGS_MAX];
static unsigned int used;	/* all slots at and above this index are unused */

static void add(uintptr_t start, uintptr_t end, bool tested)
{
	struct mapping *m = mappings;

	if (start >= end)
		return;
	while (m < mappings + MAPPINGS_MAX && m->end)
		m++;
	if (m == mappings + MAPPINGS_MAX)
		return;
	*m = (struct mapping){ start, end, tested };
	if (m >= mappings + used)
		__atomic_store_n(&used, (unsigned int)(m - mappings) + 1, __ATOMIC_RELEASE);
}

static struct mapping *find(uintptr_t start, uintptr_t end)
{
	struct mapping *m;

	for (m = mappings; m < mappings + used; m++)
		if (start < m->end && end > m->start)
			return m;
	return NULL;
}

void mapping_add(const void *at, size_t length, bool tested)
{
	pthread_mutex_lock(&lock);
	add((uintptr_t)at, (uintptr_t)at + length, tested);
	pthread_mutex_unlock(&lock);
}

/* Fast path without the lock: most processes map no driver's node. */
static bool is_none(void)
{
	return !__atomic_load_n(&used, __ATOMIC_ACQUIRE);
}

bool mapping_has(const void *at, size_t length)
{
	bool has;

	if (is_none())
		return false;
	pthread_mutex_lock(&lock);
	has = find((uintptr_t)at, (uintptr_t)at + length);
	pthread_mutex_unlock(&lock);
	return has;
}

bool mapping_has_tested(void)
{
	const struct mapping *m;
	bool has = false;

	pthread_mutex_lock(&lock);
	for (m = mappings; m < mappings + used; m++)
		has |= m->end && m->tested;
	pthread_mutex_unlock(&lock);
	return has;
}

void mapping_each(void (*call)(void *at, size_t length))
{
	const struct mapping *m;

	pthread_mutex_lock(&lock);
	for (m = mappings; m < mappings + used; m++)
		if (m->end)
			call((void *)m->start, m->end - m->start);
	pthread_mutex_unlock(&lock);
}

/* After its middle is removed, a mapping becomes two mappings. */
void mapping_remove(const void *at, size_t length)
{
	uintptr_t start = (uintptr_t)at, end = start + length;
	struct mapping *m, old;

	if (is_none())
		return;
	pthread_mutex_lock(&lock);
	while ((m = find(start, end))) {
		old = *m;
		m->end = 0;
		add(old.start, start, old.tested);
		add(end, old.end, old.tested);
	}
	pthread_mutex_unlock(&lock);
}

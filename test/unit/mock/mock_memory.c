// SPDX-License-Identifier: MIT
#include <errno.h>
#include <linux/types.h>
#include <peerpin.h>
#include <stdlib.h>
#include <string.h>
#include "mock_memory.h"

void mock_memory_init(struct mock_memory *m)
{
	memset(m, 0, sizeof(*m));
	pthread_mutex_init(&m->lock, NULL);
	LIST_INIT(&m->live);
	LIST_INIT(&m->dead);
}

void mock_memory_destroy(struct mock_memory *m)
{
	struct mock_reg *r;

	while ((r = LIST_FIRST(&m->dead))) {
		LIST_REMOVE(r, link);
		free(r);
	}
	pthread_mutex_destroy(&m->lock);
}

void *mock_at(unsigned int page)
{
	return (void *)(uintptr_t)(MOCK_BASE + (uint64_t)page * MOCK_PAGE);
}

unsigned int mock_page_of(uint64_t addr)
{
	return (addr - MOCK_BASE) / MOCK_PAGE;
}

static unsigned int last_page(const struct mock_reg *r)
{
	return mock_page_of(r->addr + r->length - 1);
}

static void uncount(struct mock_memory *m, struct mock_reg *r)
{
	if (r->counted)
		m->pinned -= r->length;
	r->counted = false;
}

static void revoke(struct mock_memory *m, unsigned int page)
{
	struct mock_reg *r;

	LIST_FOREACH(r, &m->live, link) {
		if (page < mock_page_of(r->addr) || page > last_page(r))
			continue;
		atomic_store(&r->valid, false);
		uncount(m, r);
	}
}

static void set_owner(struct mock_memory *m, unsigned int first,
		      unsigned int count, uint64_t owner)
{
	unsigned int i;

	for (i = first; i < first + count; i++) {
		if (m->owner[i])
			revoke(m, i);
		m->owner[i] = owner;
	}
}

void mock_alloc(struct mock_memory *m, unsigned int first, unsigned int count)
{
	pthread_mutex_lock(&m->lock);
	set_owner(m, first, count, ++m->last_owner);
	pthread_mutex_unlock(&m->lock);
}

void mock_free(struct mock_memory *m, unsigned int first, unsigned int count)
{
	pthread_mutex_lock(&m->lock);
	set_owner(m, first, count, 0);
	pthread_mutex_unlock(&m->lock);
}

static int check(struct mock_memory *m, const struct mock_reg *r)
{
	unsigned int i;

	m->attempts++;
	if (m->fail_count) {
		m->fail_count--;
		return m->fail;
	}
	for (i = mock_page_of(r->addr); i <= last_page(r); i++)
		if (i >= MOCK_PAGES || !m->owner[i])
			return -EINVAL;
	if (m->capacity && m->pinned + r->length > m->capacity)
		return -ENOMEM;
	return 0;
}

static int make(struct mock_memory *m, struct mock_reg *r, struct pp_why *why)
{
	int ret = check(m, r);

	if (ret) {
		why->reason = ret == -ENOMEM ? PEERPIN_REASON_NO_BAR1 :
					       PEERPIN_REASON_NOT_MAPPED;
		return ret;
	}
	memcpy(r->owner, m->owner, sizeof(r->owner));
	atomic_init(&r->valid, true);
	r->counted = true;
	m->pinned += r->length;
	m->pins++;
	LIST_INSERT_HEAD(&m->live, r, link);
	return 0;
}

static int pin(void *arg, uint64_t addr, uint64_t length, void **reg,
	       struct pp_why *why)
{
	struct mock_memory *m = arg;
	struct mock_reg *r = calloc(1, sizeof(*r));
	int ret;

	if (m->on_pin)
		m->on_pin(addr, length);
	r->addr = addr;
	r->length = length;
	pthread_mutex_lock(&m->lock);
	ret = make(m, r, why);
	pthread_mutex_unlock(&m->lock);
	if (ret) {
		free(r);
		return ret;
	}
	*reg = r;
	if (m->on_pinned)
		m->on_pinned(addr);
	return 0;
}

static void unpin(void *arg, void *reg)
{
	struct mock_memory *m = arg;
	struct mock_reg *r = reg;

	if (m->on_unpin)
		m->on_unpin(r->addr);
	pthread_mutex_lock(&m->lock);
	uncount(m, r);
	m->unpins++;
	if (!r->unpinned++) {
		LIST_REMOVE(r, link);
		LIST_INSERT_HEAD(&m->dead, r, link);
	}
	pthread_mutex_unlock(&m->lock);
}

static int valid(void *arg, void *reg)
{
	struct mock_reg *r = reg;

	(void)arg;
	return atomic_load(&r->valid);
}

static int grow(void *arg, uint64_t *addr, uint64_t *length)
{
	struct mock_memory *m = arg;
	unsigned int first = mock_page_of(*addr);
	unsigned int last = mock_page_of(*addr + *length - 1);
	uint64_t owner;

	pthread_mutex_lock(&m->lock);
	owner = m->owner[first];
	while (owner && first && m->owner[first - 1] == owner)
		first--;
	while (owner && last + 1 < MOCK_PAGES && m->owner[last + 1] == owner)
		last++;
	pthread_mutex_unlock(&m->lock);
	*addr = MOCK_BASE + (uint64_t)first * MOCK_PAGE;
	*length = (uint64_t)(last - first + 1) * MOCK_PAGE;
	return 1;
}

const struct pp_cache_ops mock_host_ops = {
	.pin = pin,
	.unpin = unpin,
	.valid = valid,
};

const struct pp_cache_ops mock_gpu_ops = {
	.pin = pin,
	.unpin = unpin,
	.valid = valid,
	.grow = grow,
};

const struct pp_cache_ops mock_plain_ops = {
	.pin = pin,
	.unpin = unpin,
};

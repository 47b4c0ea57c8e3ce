// SPDX-License-Identifier: GPL-2.0
#include <linux/hashtable.h>
#include <linux/kallsyms.h>
#include <linux/kernel.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "object.h"

enum {
	OBJECTS_MAX = 65536,
	HASH_BITS = 13,
	NAME_LEN = 64,
};

struct object {
	struct hlist_node hash;
	const void *at;		/* NULL: the slot is free */
	size_t size;
	unsigned long caller;
	char name[NAME_LEN];
};

/* @lock protects the variables below. Reads without the lock are marked data_race(): a stale value does no harm. */
static DEFINE_RAW_SPINLOCK(lock);
static DEFINE_HASHTABLE(by_address, HASH_BITS);
static struct object objects[OBJECTS_MAX];
static unsigned int next;	/* next slot to try, modulo OBJECTS_MAX; below OBJECTS_MAX: number of slots ever used */
static unsigned int watched;
static unsigned long unwatched;

static unsigned int used(void)
{
	return min_t(unsigned int, data_race(next), OBJECTS_MAX);
}

static struct object *find(const void *at)
{
	struct object *object;

	hash_for_each_possible(by_address, object, hash, (unsigned long)at)
		if (object->at == at)
			return object;
	return NULL;
}

static void drop(struct object *object)
{
	hash_del(&object->hash);
	object->at = NULL;
	watched--;
}

static struct object *take_free(void)
{
	unsigned int i;

	if (watched == OBJECTS_MAX)
		return NULL;
	for (i = 0; objects[next % OBJECTS_MAX].at && i < OBJECTS_MAX; i++)
		next++;
	return &objects[next++ % OBJECTS_MAX];
}

/* If an object is known at this address, a function that is no liberator has freed it: replace it. */
void judge_object_add(const void *at, size_t size, unsigned long caller)
{
	struct object *object;
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	object = find(at);
	if (object)
		drop(object);
	object = take_free();
	if (object) {
		*object = (struct object){ .at = at, .size = size, .caller = caller };
		hash_add(by_address, &object->hash, (unsigned long)at);
		watched++;
	} else {
		unwatched++;
	}
	raw_spin_unlock_irqrestore(&lock, flags);
}

/* May be stale, but is false for a thread that frees a watched object: the allocation has raised @watched before. */
static bool none_is_watched(void)
{
	return !data_race(watched);
}

void judge_object_remove(const void *at)
{
	struct object *object;
	unsigned long flags;

	if (none_is_watched())
		return;
	raw_spin_lock_irqsave(&lock, flags);
	object = find(at);
	if (object)
		drop(object);
	raw_spin_unlock_irqrestore(&lock, flags);
}

void judge_objects_remove(const void *const *all, size_t n)
{
	size_t i;

	for (i = 0; i < n && !none_is_watched(); i++)
		judge_object_remove(all[i]);
}

void judge_objects_name(void)
{
	const struct object *named = NULL;
	struct object *object;
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	for (object = objects; object < &objects[used()]; object++) {
		if (!object->at)
			continue;
		if (named && named->caller == object->caller)
			memcpy(object->name, named->name, NAME_LEN);
		else
			snprintf(object->name, NAME_LEN, "%pS", (void *)object->caller);
		named = object;
	}
	raw_spin_unlock_irqrestore(&lock, flags);
}

static bool copy_of(unsigned int i, struct object *copy)
{
	unsigned long flags;

	if (!data_race(objects[i].at))
		return false;
	raw_spin_lock_irqsave(&lock, flags);
	*copy = objects[i];
	raw_spin_unlock_irqrestore(&lock, flags);
	return copy->at;
}

void judge_objects_show(struct seq_file *seq)
{
	unsigned long more = data_race(unwatched);
	struct object copy;
	unsigned int i;

	for (i = 0; i < used(); i++) {
		if (!copy_of(i, &copy))
			continue;
		seq_printf(seq, "%zu ", copy.size);
		if (copy.name[0])
			seq_printf(seq, "%s\n", copy.name);
		else
			seq_printf(seq, "%pS\n", (void *)copy.caller);
	}
	if (more)
		seq_printf(seq, "# %lu more allocations were not watched\n", more);
}

void judge_objects_reset(void)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	memset(objects, 0, used() * sizeof(*objects));
	next = 0;
	hash_init(by_address);
	watched = 0;
	unwatched = 0;
	raw_spin_unlock_irqrestore(&lock, flags);
}

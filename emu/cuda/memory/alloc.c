// SPDX-License-Identifier: MIT
#include "alloc.h"

#include "emu/cuda/context/init.h"

#include <search.h>

/* All allocations: a balanced tree by address. The library lock protects all data of this file. */
static void *tree;
static unsigned long long last_id;

/* Overlapping ranges compare equal, so a range of one byte finds the allocation that contains the byte. */
static int compare(const void *left, const void *right)
{
	const struct alloc_info *a = left, *b = right;

	if (a->addr + a->size <= b->addr)
		return -1;
	return a->addr >= b->addr + b->size;
}

struct alloc_info *alloc_overlap(CUdeviceptr addr, size_t size)
{
	const struct alloc_info key = { .addr = addr, .size = size };
	void *node = tfind(&key, &tree, compare);

	return node ? *(struct alloc_info **)node : NULL;
}

struct alloc_info *alloc_again(const struct alloc_info *found)
{
	struct alloc_info *info = alloc_overlap(found->addr, 1);

	return info && info->id == found->id ? info : NULL;
}

bool alloc_add(struct alloc_info *info)
{
	void *node = tsearch(info, &tree, compare);

	if (!node || *(struct alloc_info **)node != info)
		return false;
	info->id = alloc_new_id();
	return true;
}

void alloc_remove(struct alloc_info *info)
{
	tdelete(info, &tree, compare);
}

unsigned long long alloc_new_id(void)
{
	return ++last_id;
}

bool alloc_find(CUdeviceptr addr, struct alloc_info *out)
{
	const struct alloc_info *info;

	lib_lock();
	info = alloc_overlap(addr, 1);
	if (info)
		*out = *info;
	lib_unlock();
	return info;
}

bool alloc_set_sync_memops(const struct alloc_info *found, bool on)
{
	struct alloc_info *info;

	lib_lock();
	info = alloc_again(found);
	if (info)
		info->sync_memops = on;
	lib_unlock();
	return info;
}

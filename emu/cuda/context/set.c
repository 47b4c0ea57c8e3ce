// SPDX-License-Identifier: MIT
#include "set.h"

#include <search.h>
#include <stdint.h>

static int compare(const void *left, const void *right)
{
	uintptr_t a = (uintptr_t)left, b = (uintptr_t)right;

	return a < b ? -1 : a > b;
}

bool set_add(struct set *set, void *handle)
{
	return tsearch(handle, &set->root, compare);
}

void set_remove(struct set *set, void *handle)
{
	tdelete(handle, &set->root, compare);
}

bool set_has(const struct set *set, const void *handle)
{
	return tfind(handle, &set->root, compare);
}

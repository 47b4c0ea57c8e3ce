/* SPDX-License-Identifier: MIT */
/*
 * set: a set of pointers that are valid handles. A handle that is not in its set is never
 * dereferenced. The caller holds the lock of the set.
 */
#ifndef SET_H
#define SET_H

#include <stdbool.h>

struct set {
	void *root;
};

/* set_add - false: out of memory */
bool set_add(struct set *set, void *handle);
void set_remove(struct set *set, void *handle);
bool set_has(const struct set *set, const void *handle);

#endif

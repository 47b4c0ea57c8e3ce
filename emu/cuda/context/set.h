/* SPDX-License-Identifier: MIT */
/*
 * set: pointers that are valid handles. A handle that is not in its set is
 * never looked into. The caller locks.
 */
#ifndef SET_H
#define SET_H

#include <stdbool.h>

struct set {
	void *root;
};

/* set_add - false: no memory */
bool set_add(struct set *set, void *handle);
void set_remove(struct set *set, void *handle);
bool set_has(const struct set *set, const void *handle);

#endif

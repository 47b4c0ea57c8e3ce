/* SPDX-License-Identifier: MIT */
/* A red-black tree of ranges that do not overlap; for the baselines. */
#ifndef RB_H
#define RB_H

#include <stdbool.h>
#include <stdint.h>

/* A node; must be the first member of an element */
struct rb_node {
	uint64_t start;
	uint64_t end;
	struct rb_node *child[2];
	struct rb_node *parent;
	bool red;
};

struct rb {
	struct rb_node *root;
};

/* The element that contains @addr, or NULL */
static inline struct rb_node *rb_find(const struct rb *t, uint64_t addr)
{
	struct rb_node *n = t->root;

	while (n && (addr < n->start || addr >= n->end))
		n = n->child[addr >= n->end];
	return n;
}

/* @start and @end must be set, and must not overlap an element. */
void rb_insert(struct rb *t, struct rb_node *n);
void rb_remove(struct rb *t, struct rb_node *n);

#endif

// SPDX-License-Identifier: MIT
/*
 * Invariants: no red node has a red child; all paths from the root down have the same number of black nodes. The code
 * serves both directions: @side is the side of the child, !@side the opposite side.
 */
#include <stddef.h>
#include "rb.h"

static bool is_red(const struct rb_node *n)
{
	return n && n->red;
}

static bool side_of(const struct rb_node *parent, const struct rb_node *n)
{
	return parent->child[1] == n;
}

/* Replace @n by @with under the parent of @n. */
static void replace(struct rb *t, const struct rb_node *n, struct rb_node *with)
{
	if (n->parent)
		n->parent->child[side_of(n->parent, n)] = with;
	else
		t->root = with;
	if (with)
		with->parent = n->parent;
}

/* Rotate: @n moves down to @side, and the child of @n on the other side moves up. */
static struct rb_node *rotate(struct rb *t, struct rb_node *n, bool side)
{
	struct rb_node *up = n->child[!side];

	n->child[!side] = up->child[side];
	if (up->child[side])
		up->child[side]->parent = n;
	replace(t, n, up);
	up->child[side] = n;
	n->parent = up;
	return up;
}

/* Repair: @parent and its child @n are red. */
static void mend_insert(struct rb *t, struct rb_node *parent, struct rb_node *n)
{
	struct rb_node *above = parent->parent;
	bool side = side_of(above, parent);

	if (side_of(parent, n) != side)
		parent = rotate(t, parent, side);
	above->red = true;
	parent->red = false;
	rotate(t, above, !side);
}

void rb_insert(struct rb *t, struct rb_node *n)
{
	struct rb_node **at = &t->root, *parent = NULL, *aunt;

	while (*at) {
		parent = *at;
		at = &parent->child[n->start >= parent->end];
	}
	*at = n;
	n->parent = parent;
	n->child[0] = n->child[1] = NULL;
	n->red = true;
	while (is_red(n->parent)) {
		parent = n->parent;
		aunt = parent->parent->child[!side_of(parent->parent, parent)];
		if (!is_red(aunt)) {
			mend_insert(t, parent, n);
			break;
		}
		parent->red = aunt->red = false;
		n = parent->parent;
		n->red = true;
	}
	t->root->red = false;
}

/*
 * Repair: paths through @side of @parent lack a black node. Returns true if all paths through @parent lack a black node
 * afterwards; then the caller paints @parent black if it is red.
 */
static bool mend_remove(struct rb *t, struct rb_node *parent, bool side)
{
	struct rb_node *other = parent->child[!side];

	if (other->red) {
		other->red = false;
		parent->red = true;
		rotate(t, parent, side);
		other = parent->child[!side];
	}
	if (!is_red(other->child[0]) && !is_red(other->child[1])) {
		other->red = true;
		return true;
	}
	if (!is_red(other->child[!side])) {
		other->child[side]->red = false;
		other->red = true;
		other = rotate(t, other, !side);
	}
	other->red = parent->red;
	parent->red = false;
	other->child[!side]->red = false;
	rotate(t, parent, side);
	return false;
}

/* @n (may be NULL) is the child at @side of @parent, where a black node was removed. */
static void mend_up(struct rb *t, struct rb_node *n, struct rb_node *parent, bool side)
{
	while (parent && !is_red(n)) {
		if (!mend_remove(t, parent, side))
			return;
		n = parent;
		parent = n->parent;
		side = parent && side_of(parent, n);
	}
	if (n)
		n->red = false;
}

/* Replace @n by @with, which is in no tree. */
static void take_place(struct rb *t, const struct rb_node *n, struct rb_node *with)
{
	replace(t, n, with);
	with->red = n->red;
	for (int side = 0; side < 2; side++) {
		with->child[side] = n->child[side];
		if (n->child[side])
			n->child[side]->parent = with;
	}
}

static struct rb_node *next_below(const struct rb_node *n)
{
	struct rb_node *next = n->child[1];

	while (next->child[0])
		next = next->child[0];
	return next;
}

void rb_remove(struct rb *t, struct rb_node *n)
{
	struct rb_node *out = n->child[0] && n->child[1] ? next_below(n) : n;
	struct rb_node *up = out->child[!out->child[0]], *parent = out->parent;
	bool side = parent && side_of(parent, out), was_black = !out->red;

	replace(t, out, up);
	if (out != n) {
		take_place(t, n, out);
		if (parent == n)
			parent = out;
	}
	if (was_black)
		mend_up(t, up, parent, side);
}

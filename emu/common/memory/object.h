/* SPDX-License-Identifier: GPL-2.0 */
/* Objects that a client refers to by number: memories and contexts. */
#ifndef _EMUGPU_OBJECT_H
#define _EMUGPU_OBJECT_H

#include <linux/kref.h>

struct emugpu_object {
	struct kref refs;
	void (*destroy)(struct emugpu_object *object);	/* also shows the kind: memory or context */
};

static inline void emugpu_object_init(struct emugpu_object *object, void (*destroy)(struct emugpu_object *object))
{
	kref_init(&object->refs);
	object->destroy = destroy;
}

static inline void emugpu_object_release(struct kref *refs)
{
	struct emugpu_object *object = container_of(refs, struct emugpu_object, refs);

	object->destroy(object);
}

static inline void emugpu_object_get(struct emugpu_object *object)
{
	kref_get(&object->refs);
}

static inline void emugpu_object_put(struct emugpu_object *object)
{
	kref_put(&object->refs, emugpu_object_release);
}

#endif

// SPDX-License-Identifier: GPL-2.0
#include <linux/bug.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "join.h"
#include "memory.h"

struct joined {
	u32 nparts;
	struct emugpu_memory **parts;	/* with references */
	struct emugpu_memory memory;	/* last, because of its array; without a reference to the GPU: the parts have one */
};

static void joined_destroy(struct emugpu_object *object)
{
	struct joined *joined = container_of(object, struct joined, memory.object);

	while (joined->nparts)
		emugpu_memory_put(joined->parts[--joined->nparts]);
	kvfree(joined->parts);
	kvfree(joined);
}

static struct joined *joined_of(const struct emugpu_memory *memory)
{
	WARN_ON(memory->object.destroy != joined_destroy);
	return container_of(memory, struct joined, memory);
}

struct emugpu_memory *emugpu_join_new(struct emugpu_gpu *gpu, u32 nparts, u32 npages)
{
	struct joined *joined = kvzalloc(struct_size(joined, memory.pages, npages), GFP_KERNEL);

	if (!joined)
		return NULL;
	joined->parts = kvcalloc(nparts, sizeof(*joined->parts), GFP_KERNEL);
	if (!joined->parts) {
		kvfree(joined);
		return NULL;
	}
	emugpu_object_init(&joined->memory.object, joined_destroy);
	joined->memory.gpu = gpu;
	return &joined->memory;
}

void emugpu_join_add(struct emugpu_memory *memory, struct emugpu_memory *part, const u32 *pages, u32 npages)
{
	struct joined *joined = joined_of(memory);

	emugpu_memory_get(part);
	joined->parts[joined->nparts++] = part;
	memcpy(&memory->pages[memory->npages], pages, array_size(npages, sizeof(*pages)));
	memory->npages += npages;
}

bool emugpu_join_has(const struct emugpu_memory *memory, const struct emugpu_memory *part)
{
	const struct joined *joined = joined_of(memory);
	u32 i;

	for (i = 0; i < joined->nparts; i++)
		if (joined->parts[i] == part)
			return true;
	return false;
}

bool emugpu_join_is_alone(const struct emugpu_memory *memory)
{
	const struct joined *joined = joined_of(memory);
	u32 i;

	for (i = 0; i < joined->nparts; i++)
		if (kref_read(&joined->parts[i]->object.refs) > 1)
			return false;
	return true;
}

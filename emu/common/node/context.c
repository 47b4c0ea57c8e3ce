// SPDX-License-Identifier: GPL-2.0
#include <linux/atomic.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "emugpu.h"
#include "context.h"

/* va_space tokens are small consecutive numbers, as in NVIDIA's driver. */
static atomic_t last_va_space = ATOMIC_INIT(EMUGPU_VA_SPACE_OF_NONE);

static void context_destroy(struct emugpu_object *object)
{
	kfree(container_of(object, struct emugpu_context, object));
}

struct emugpu_context *emugpu_context_of(struct emugpu_object *object)
{
	return object->destroy == context_destroy ? container_of(object, struct emugpu_context, object) : NULL;
}

void emugpu_context_put(struct emugpu_context *context)
{
	if (context)
		emugpu_object_put(&context->object);
}

struct emugpu_context *emugpu_context_new(void)
{
	struct emugpu_context *context = kzalloc(sizeof(*context), GFP_KERNEL_ACCOUNT);

	if (!context)
		return NULL;
	emugpu_object_init(&context->object, context_destroy);
	while (!context->p2p_token)
		context->p2p_token = get_random_u64();
	while (!context->va_space)
		context->va_space = atomic_inc_return(&last_va_space);
	return context;
}

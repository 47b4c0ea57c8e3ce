// SPDX-License-Identifier: MIT
#include <stddef.h>
#include "context.h"
#include "cuda_api.h"
#include "query.h"

static bool is_wanted(const struct pp_cuda *cuda)
{
	void *current = NULL;

	return cuda && cuda->context_current && !cuda->context_current(&current) && !current;
}

static void *context_of(const struct pp_cuda *cuda, uint64_t addr)
{
	void *context = NULL;

	return cuda->get_attribute(&context, PP_CU_CONTEXT, addr) ? NULL : context;
}

static void *hold_primary(const struct pp_cuda *cuda, uint64_t addr, struct pp_context *c)
{
	void *context = NULL;
	struct pp_mem mem;

	pp_query((const void *)(uintptr_t)addr, &mem);
	if (mem.device < 0 || cuda->primary_retain(&context, mem.device))
		return NULL;
	c->held = mem.device;
	return context;
}

void pp_context_enter(struct pp_context *c, uint64_t addr)
{
	const struct pp_cuda *cuda = pp_cuda();
	void *context;

	*c = (struct pp_context){ .held = -1 };
	if (!is_wanted(cuda))
		return;
	context = context_of(cuda, addr) ?: hold_primary(cuda, addr, c);
	c->pushed = context && !cuda->context_push(context);
}

/*
 * If the program has released the primary context meanwhile, our release destroys the
 * context. Our release bypasses the hook (untold() in cuda_api.c). This is safe: the
 * hook has already reported the program's release as a free of all memory.
 */
void pp_context_leave(struct pp_context *c)
{
	void *popped;

	if (c->pushed)
		pp_cuda()->context_pop(&popped);
	if (c->held >= 0)
		pp_cuda()->primary_release(c->held);
}

// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include "lib/sys/cancel.h"
#include "libpeerpin-hook.h"
#include "lib/cache/flags.h"
#include "lib/cache/range.h"
#include "registration.h"
#include "lib/sys/debug.h"
#include "lib/sys/sys.h"

struct pp_verbs {
	struct pp_registrar registrar;
	struct pp_cache *cache;
};

/**
 * struct request - arguments and results of pp_verbs_reg(), for the pin callback
 * @why: filled in if the pin fails
 * @unwatched: true: do not watch host memory
 * @no_file: set if the pin failed because the process has no free descriptors
 */
struct request {
	struct pp_mr_why *why;
	bool unwatched;
	bool no_file;
};

/* Per thread: if another thread's registration fails, a waiting thread makes its own, and gets its own @why. */
static __thread struct request request;

/* ---- the cache's operations ------------------------------------------------------------ */

static void say_attempt(const struct pp_registration *reg, const struct pp_mr_attempt *a)
{
	char text[512];

	pp_explain(text, sizeof(text), a->error, &a->why);
	pp_debug("0x%" PRIx64 ", %" PRIu64 " bytes: not registered as %s: %s: %s", reg->mr.addr, reg->mr.length,
		 pp_mr_way_name(a->way), a->call, text);
}

static void say(const struct pp_registration *reg, int error, const struct pp_mr_why *why)
{
	char text[1024];
	uint32_t i;

	if (!pp_debugs())
		return;
	for (i = 0; i < why->count; i++)
		say_attempt(reg, &why->attempt[i]);
	if (!error)
		pp_debug("0x%" PRIx64 ", %" PRIu64 " bytes: registered as %s", reg->mr.addr, reg->mr.length,
			 pp_mr_way_name(reg->mr.way));
	else if (!why->count) {
		pp_verbs_explain(text, sizeof(text), error, why);
		pp_debug("0x%" PRIx64 ", %" PRIu64 " bytes: not registered: %s", reg->mr.addr, reg->mr.length, text);
	}
}

static int verbs_pin(void *arg, uint64_t addr, uint64_t length, void **reg, struct pp_why *why)
{
	const struct pp_verbs *v = arg;
	struct pp_registration *made = malloc(sizeof(*made));
	struct pp_mr_why all;
	int ret;

	if (!made)
		return -ENOMEM;
	ret = pp_registration_make(&v->registrar, addr, length, !request.unwatched, made, &all);
	say(made, ret, &all);
	if (!ret) {
		*reg = made;
		return 0;
	}
	free(made);
	*why = all.why;
	if (request.why)
		*request.why = all;
	/* registrations hold no descriptors: return -ENFILE, so that the cache does not evict any */
	request.no_file = ret == -EMFILE;
	return request.no_file ? -ENFILE : ret;
}

static void verbs_unpin(void *arg, void *reg)
{
	const struct pp_verbs *v = arg;

	pp_registration_end(&v->registrar, reg);
	free(reg);
}

static int verbs_valid(void *arg, void *reg)
{
	const struct pp_verbs *v = arg;

	return pp_registration_holds(&v->registrar, reg);
}

static int verbs_grow(void *arg, uint64_t *addr, uint64_t *length)
{
	struct pp_mem mem;

	(void)arg;
	pp_query((const void *)(uintptr_t)*addr, &mem);
	if (mem.kind == PP_MEM_HOST)
		return pp_pages_grow(addr, length);
	if (pp_is_within(&mem, *addr, *length)) {
		*addr = mem.base;
		*length = mem.size;
	}
	return 1;
}

static const struct pp_cache_ops verbs_ops = {
	.pin = verbs_pin,
	.unpin = verbs_unpin,
	.valid = verbs_valid,
	.grow = verbs_grow,
};

/* ---- the hook ----------------------------------------------------------------------------- */

/*
 * Freed memory stays allocated while a dma-buf of the GPU's driver is registered. With the
 * hook the registration ends at once. The cache detects stale entries without the hook,
 * too, so an error of pp_hook_add() is ignored.
 */
static void gone(void *arg, uint64_t addr, uint64_t length)
{
	pp_cache_invalidate(arg, (void *)(uintptr_t)addr, length);
}

static void watch(struct pp_cache *cache)
{
	typeof(pp_hook_add) *add = (typeof(pp_hook_add) *)dlsym(RTLD_DEFAULT, "pp_hook_add");

	if (add)
		add(gone, cache);
}

static void unwatch(struct pp_cache *cache)
{
	typeof(pp_hook_remove) *remove = (typeof(pp_hook_remove) *)dlsym(RTLD_DEFAULT, "pp_hook_remove");

	if (remove)
		remove(gone, cache);
}

/* ---- open and close ------------------------------------------------------------------------- */

PP_PUBLIC int pp_verbs_open(struct ibv_pd *pd, int access, const struct pp_cache_attr *limits, struct pp_verbs **out)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;
	struct pp_cache_attr attr = limits ? *limits : (struct pp_cache_attr){ 0 };
	struct pp_verbs *v;
	int ret;

	if (!pd || !out)
		return -EINVAL;
	if (!pp_flags_are_known(attr.pin_flags))
		return -EOPNOTSUPP;
	v = calloc(1, sizeof(*v));
	if (!v)
		return -ENOMEM;
	v->registrar = (struct pp_registrar){ .pd = pd, .access = access, .pin_flags = attr.pin_flags };
	attr.pin_flags = 0;	/* pp_cache_create() accepts no flags */
	ret = pp_cache_create(&verbs_ops, v, &attr, &v->cache);
	if (ret) {
		free(v);
		return ret;
	}
	v->registrar.ctx_error = pp_open(&v->registrar.ctx);
	watch(v->cache);
	*out = v;
	return 0;
}

PP_PUBLIC void pp_verbs_close(struct pp_verbs *v)
{
	PP_KEEP_ERRNO;
	PP_NO_CANCEL;

	if (!v)
		return;
	unwatch(v->cache);
	pp_cache_destroy(v->cache);
	pp_close(v->registrar.ctx);
	free(v);
}

/* ---- use --------------------------------------------------------------------------------------- */

static int get(struct pp_verbs *v, const void *addr, size_t length, const struct pp_cache_entry **e,
	       struct pp_mr_why *why)
{
	int ret = pp_cache_get(v->cache, addr, length, e, NULL);

	/* there is no room for a watch; the adapter may have room */
	if (!pp_is_shortage(ret) || why->count != 1 || why->attempt[0].way != PP_MR_HOST)
		return ret;
	request.unwatched = true;
	ret = pp_cache_get(v->cache, addr, length, e, NULL);
	request.unwatched = false;
	return ret;
}

PP_PUBLIC int pp_verbs_reg(struct pp_verbs *v, const void *addr, size_t length, const struct pp_mr **out,
			   struct pp_mr_why *why)
{
	PP_KEEP_ERRNO;
	const struct pp_cache_entry *e;
	struct pp_registration *reg;
	struct pp_mr_why ignored;
	int ret;

	request.why = why ? why : &ignored;
	*request.why = (struct pp_mr_why){ 0 };
	request.no_file = false;
	ret = get(v, addr, length, &e, request.why);
	request.why = NULL;
	if (ret)
		return ret == -ENFILE && request.no_file ? -EMFILE : ret;
	reg = e->reg;
	/* relaxed: all threads store the same value, and a reader reads it after its own store */
	atomic_store_explicit(&reg->entry, e, memory_order_relaxed);
	*out = &reg->mr;
	return 0;
}

PP_PUBLIC void pp_verbs_unreg(struct pp_verbs *v, const struct pp_mr *mr)
{
	PP_KEEP_ERRNO;
	const struct pp_registration *reg = (const struct pp_registration *)mr;

	pp_cache_put(v->cache, atomic_load_explicit(&reg->entry, memory_order_relaxed));
}

PP_PUBLIC struct pp_cache *pp_verbs_cache(struct pp_verbs *v)
{
	return v->cache;
}

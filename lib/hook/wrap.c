// SPDX-License-Identifier: MIT
#include "wrap.h"

#include "lib/sys/cancel.h"
#include "elf.h"
#include "going.h"
#include "libpeerpin-hook.h"
#include "loader.h"
#include "subscriber.h"
#include "tell.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>

enum {
	CU_SUCCESS = 0,
	CU_NOT_FOUND = 500,
	CU_PER_THREAD = 2,	/* flag of cuGetProcAddress() */
};

/* The function that each wrapper calls; written once. For PP_WRAP_LINKED: looked up at the first call. */
static _Atomic(void *) reals[PP_WRAP_NUMBER][PP_WRAP_WAYS];

static void *find_linked(enum pp_wrap_id id)
{
	void *found = pp_loader_behind(pp_wrap_name(id)), *none = NULL;

	if (!found || atomic_compare_exchange_strong(&reals[id][PP_WRAP_LINKED], &none, found))
		return found;
	return none;
}

/* Relaxed: the code behind the pointer was loaded before the pointer was stored. */
static inline void *known(enum pp_wrap_id id, unsigned int way)
{
	return atomic_load_explicit(&reals[id][way], memory_order_relaxed);
}

static void *real_of(enum pp_wrap_id id, unsigned int way)
{
	void *real = known(id, way);

	return real ? real : find_linked(id);
}

static void replace(const char *name, void **fn, int version, uint64_t flags)
{
	const enum pp_wrap_id id = pp_wrap_proc(name, version, flags);

	if (id != PP_WRAP_NONE && *fn)
		*fn = pp_wrap(id, *fn);
}

/* ---- the kinds of wrappers -------------------------------------------------------- */

#define ADDRESS_PARAMS uint64_t addr
#define ADDRESS_ARGS addr
#define ADDRESS_TELL pp_tell_allocation(addr)

#define ADDRESS_AND_PARAMS uint64_t addr, void *stream
#define ADDRESS_AND_ARGS addr, stream
#define ADDRESS_AND_TELL pp_tell_allocation(addr)

#define RANGE_PARAMS uint64_t addr, size_t length
#define RANGE_ARGS addr, length
#define RANGE_TELL pp_tell_range(addr, length)

#define OBJECT_PARAMS void *object
#define OBJECT_ARGS object
#define OBJECT_TELL pp_tell_all()

#define OBJECT_AND_PARAMS void *object, size_t size
#define OBJECT_AND_ARGS object, size
#define OBJECT_AND_TELL pp_tell_all()

#define NUMBER_PARAMS int number
#define NUMBER_ARGS number
#define NUMBER_TELL pp_tell_all()

#define NUMBER_AND_PARAMS int number, void *more
#define NUMBER_AND_ARGS number, more
#define NUMBER_AND_TELL pp_tell_all()

#define NUMBER_AND_TWO_PARAMS unsigned int number, void *more, void *stream
#define NUMBER_AND_TWO_ARGS number, more, stream
#define NUMBER_AND_TWO_TELL pp_tell_all()

/*
 * The part for calls with subscribers is a separate function: so a wrapper usually costs two loads and a
 * jump. The thread must not be cancelled between pp_going_begin(), in TELL, and pp_going_end().
 */
#define SELDOM(kind) \
	static __attribute__((noinline)) int kind##_seldom(enum pp_wrap_id id, unsigned int way, kind##_PARAMS) \
	{ \
		PP_NO_CANCEL; \
		int going = pp_subscribers() ? kind##_TELL : PP_GOING_NOTHING; \
		int (*real)(kind##_PARAMS) = (int (*)(kind##_PARAMS))real_of(id, way); \
		int err = real ? real(kind##_ARGS) : CU_NOT_FOUND; \
		\
		pp_going_end(going); \
		return err; \
	}

SELDOM(ADDRESS)
SELDOM(ADDRESS_AND)
SELDOM(RANGE)
SELDOM(OBJECT)
SELDOM(OBJECT_AND)
SELDOM(NUMBER)
SELDOM(NUMBER_AND)
SELDOM(NUMBER_AND_TWO)

#define TELLS(symbol, way, kind) \
	static int symbol##_by_##way(kind##_PARAMS) \
	{ \
		int (*real)(kind##_PARAMS) = (int (*)(kind##_PARAMS))known(PP_WRAP_##symbol, way); \
		\
		if (__builtin_expect(!real || pp_subscribers(), 0)) \
			return kind##_seldom(PP_WRAP_##symbol, way, kind##_ARGS); \
		return real(kind##_ARGS); \
	}

#define PROC_PARAMS const char *name, void **fn, int version, uint64_t flags
#define PROC_ARGS name, fn, version, flags

#define PROC_WHY_PARAMS const char *name, void **fn, int version, uint64_t flags, void *why
#define PROC_WHY_ARGS name, fn, version, flags, why

#define FINDS(symbol, way, kind) \
	static int symbol##_by_##way(kind##_PARAMS) \
	{ \
		int (*real)(kind##_PARAMS) = (int (*)(kind##_PARAMS))real_of(PP_WRAP_##symbol, way); \
		int err = real ? real(kind##_ARGS) : CU_NOT_FOUND; \
		\
		if (err == CU_SUCCESS && fn) \
			replace(name, fn, version, flags); \
		return err; \
	}

#define WAY_ADDRESS(symbol, way) TELLS(symbol, way, ADDRESS)
#define WAY_ADDRESS_AND(symbol, way) TELLS(symbol, way, ADDRESS_AND)
#define WAY_RANGE(symbol, way) TELLS(symbol, way, RANGE)
#define WAY_OBJECT(symbol, way) TELLS(symbol, way, OBJECT)
#define WAY_OBJECT_AND(symbol, way) TELLS(symbol, way, OBJECT_AND)
#define WAY_NUMBER(symbol, way) TELLS(symbol, way, NUMBER)
#define WAY_NUMBER_AND(symbol, way) TELLS(symbol, way, NUMBER_AND)
#define WAY_NUMBER_AND_TWO(symbol, way) TELLS(symbol, way, NUMBER_AND_TWO)
#define WAY_PROC(symbol, way) FINDS(symbol, way, PROC)
#define WAY_PROC_WHY(symbol, way) FINDS(symbol, way, PROC_WHY)

/* The exported symbol is an alias, so that this library uses its own function even if another library replaces it. */
#define WRAPPERS(symbol, name, since, per_thread, kind) \
	WAY_##kind(symbol, 0) \
	WAY_##kind(symbol, 1) \
	WAY_##kind(symbol, 2) \
	WAY_##kind(symbol, 3) \
	extern int symbol(kind##_PARAMS) __attribute__((alias(#symbol "_by_0"), visibility("default")));

PP_FREES(WRAPPERS)

/* ---- finding the wrappers ------------------------------------------------------------ */

/**
 * struct wrapped - a function of libcuda
 * @symbol: its name for the linker
 * @name: its name for cuGetProcAddress()
 * @since: the CUDA version that introduced it
 * @per_thread: the variant for programs built with a default stream per thread
 */
struct wrapped {
	const char *symbol;
	const char *name;
	int since;
	bool per_thread;
	void *wrappers[PP_WRAP_WAYS];
};

#define WRAPPED(symbol, name, since, per_thread, kind) \
	{ #symbol, #name, since, per_thread, \
	  { (void *)symbol##_by_0, (void *)symbol##_by_1, (void *)symbol##_by_2, (void *)symbol##_by_3 } },

static const struct wrapped wrapped[PP_WRAP_NUMBER] = { PP_FREES(WRAPPED) };

const char *pp_wrap_name(enum pp_wrap_id id)
{
	return wrapped[id].symbol;
}

void *pp_wrap_linked(enum pp_wrap_id id)
{
	return wrapped[id].wrappers[PP_WRAP_LINKED];
}

enum pp_wrap_id pp_wrap_symbol(const char *symbol)
{
	if (symbol[0] != 'c' || symbol[1] != 'u')
		return PP_WRAP_NONE;
	for (int id = 0; id < PP_WRAP_NUMBER; id++)
		if (pp_elf_same(wrapped[id].symbol, symbol))
			return id;
	return PP_WRAP_NONE;
}

/* For one name, PP_FREES lists the variants by version, the per-thread variant last. The last match is used. */
static bool is_meant(const struct wrapped *w, int version, uint64_t flags)
{
	return w->since <= version && (!w->per_thread || flags & CU_PER_THREAD);
}

enum pp_wrap_id pp_wrap_proc(const char *name, int version, uint64_t flags)
{
	enum pp_wrap_id best = PP_WRAP_NONE;

	for (int id = 0; id < PP_WRAP_NUMBER; id++) {
		if (!pp_elf_same(wrapped[id].name, name))
			continue;
		if (best == PP_WRAP_NONE || is_meant(&wrapped[id], version, flags))
			best = id;
	}
	return best;
}

bool pp_wrap_is(enum pp_wrap_id id, const void *function)
{
	for (unsigned int way = 0; way < PP_WRAP_WAYS; way++)
		if (wrapped[id].wrappers[way] == function)
			return true;
	return false;
}

__attribute__((visibility("default"))) void *pp_hook_real(void *function)
{
	for (int id = 0; id < PP_WRAP_NUMBER; id++)
		for (unsigned int way = 0; way < PP_WRAP_WAYS; way++)
			if (wrapped[id].wrappers[way] == function)
				return real_of(id, way);
	return function;
}

/* All threads try the ways in the same order, so no function gets two ways. */
static bool claim(_Atomic(void *) *way, void *real)
{
	void *old = atomic_load_explicit(way, memory_order_relaxed);

	if (!old && atomic_compare_exchange_strong(way, &old, real)) {
		pp_loader_hold(real);
		return true;
	}
	return old == real;
}

void *pp_wrap(enum pp_wrap_id id, void *real)
{
	const void *linked;

	if (pp_wrap_is(id, real))
		return real;
	linked = real_of(id, PP_WRAP_LINKED);
	dlerror();	/* clears an error of our look-up, which the caller must not see */
	if (linked == real)
		return pp_wrap_linked(id);
	for (unsigned int way = PP_WRAP_LINKED + 1; way < PP_WRAP_WAYS; way++)
		if (claim(&reals[id][way], real))
			return wrapped[id].wrappers[way];
	return real;
}

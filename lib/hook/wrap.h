/* SPDX-License-Identifier: MIT */
/*
 * wrap: the wrappers that callers get in place of libcuda's functions. A caller may
 * reach a function of libcuda in several ways that lead to different code, for example
 * if another library intercepts only one way. Each way has its own wrapper. A wrapper
 * calls the function that its caller would have got without this library. So no other
 * interceptor is skipped, and no call returns to its own wrapper.
 */
#ifndef PP_HOOK_WRAP_H
#define PP_HOOK_WRAP_H

#include "frees.h"

#include <stdbool.h>
#include <stdint.h>

#define PP_WRAP_ID(symbol, ...) PP_WRAP_##symbol,

enum pp_wrap_id {
	PP_FREES(PP_WRAP_ID)
	PP_WRAP_NUMBER,
	PP_WRAP_NONE = -1,
};

enum {
	PP_WRAP_LINKED,		/* for callers linked with libcuda: the exported symbols of this library */
	PP_WRAP_WAYS = 4,
};

/* The id of a function by its symbol */
enum pp_wrap_id pp_wrap_symbol(const char *symbol);

/* The id of the function that cuGetProcAddress() finds */
enum pp_wrap_id pp_wrap_proc(const char *name, int version, uint64_t flags);

const char *pp_wrap_name(enum pp_wrap_id id);

/* Is @function one of this library's wrappers of @id? */
bool pp_wrap_is(enum pp_wrap_id id, const void *function);

/* The wrapper that calls @real; @real itself if all ways of the function are taken. */
void *pp_wrap(enum pp_wrap_id id, void *real);

/* The wrapper for callers linked with libcuda */
void *pp_wrap_linked(enum pp_wrap_id id);

#endif

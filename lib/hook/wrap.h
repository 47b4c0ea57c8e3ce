/* SPDX-License-Identifier: MIT */
/*
 * wrap: the functions that callers get in place of libcuda's. One function of
 * libcuda may be reached in several ways that lead to different code, as when
 * another library intercepts it on one way only. Each way has a wrapper of its
 * own, which goes on to what the caller would have got without this library:
 * so nobody is left out, and no call comes back to where it was.
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
	PP_WRAP_LINKED,		/* the way of who linked with libcuda: the symbols of this library */
	PP_WRAP_WAYS = 4,
};

/* Which function is it, by its symbol? */
enum pp_wrap_id pp_wrap_symbol(const char *symbol);

/* Which has cuGetProcAddress() found? */
enum pp_wrap_id pp_wrap_proc(const char *name, int version, uint64_t flags);

const char *pp_wrap_name(enum pp_wrap_id id);

/* Is it one of this library's wrappers of @id? */
bool pp_wrap_is(enum pp_wrap_id id, const void *function);

/* The wrapper that goes on to @real; @real itself when there are too many ways. */
void *pp_wrap(enum pp_wrap_id id, void *real);

/* That of the symbol. */
void *pp_wrap_linked(enum pp_wrap_id id);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Which process is this? Objects remember the mark of the process that made
 * them; in a child of fork() the mark differs, and they refuse to work there.
 */
#ifndef PP_PROCESS_H
#define PP_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "lib/sys/sys.h"

extern PP_HIDDEN _Atomic(uint64_t) *pp_process_page;

/* Not 0; 0 when there is no memory for it. One load once it exists. */
uint64_t pp_process_mark(void);

/* Is @mark, which pp_process_mark() once returned, this process's? */
static inline bool pp_process_is(uint64_t mark)
{
	return atomic_load_explicit(pp_process_page, memory_order_relaxed) == mark;
}

#endif

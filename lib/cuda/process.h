/* SPDX-License-Identifier: MIT */
/*
 * A mark for each process. Objects remember the mark of the process that made them.
 * A child of fork() has another mark, so the parent's objects refuse to work there.
 */
#ifndef PP_PROCESS_H
#define PP_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include "lib/sys/sys.h"

extern PP_HIDDEN _Atomic(uint64_t) *pp_process_page;

/* The mark of this process, or 0 if there is no memory for it. After the first call it costs one load. */
uint64_t pp_process_mark(void);

/* Is @mark the mark of this process? @mark: from pp_process_mark(), not 0 */
static inline bool pp_process_is(uint64_t mark)
{
	return atomic_load_explicit(pp_process_page, memory_order_relaxed) == mark;
}

#endif

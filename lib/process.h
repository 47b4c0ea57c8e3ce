/* SPDX-License-Identifier: MIT */
/*
 * Which process is this? Objects remember the mark of the process that made
 * them; in a child of fork() the mark differs, and they refuse to work there.
 */
#ifndef PP_PROCESS_H
#define PP_PROCESS_H

#include <stdint.h>

/* Not 0; 0 when there is no memory for it. One load once it exists. */
uint64_t pp_process_mark(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * PEERPIN_DEBUG=1: the library says on stderr what it registers and how, or why a registration failed. Only functions
 * that register memory call pp_debug(), so a hit of a cache costs no more.
 */
#ifndef PP_DEBUG_H
#define PP_DEBUG_H

#include <stdbool.h>

/* Did the program start with PEERPIN_DEBUG=1 in its environment? Any thread. */
bool pp_debugs(void);

/* If pp_debugs(), prints a line "peerpin: ..." by one write(). Keeps errno. Not in a signal handler. */
void pp_debug(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif

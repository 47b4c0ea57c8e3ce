/* SPDX-License-Identifier: MIT */
/* libucm, the part of UCX that reports freed memory to the registration caches. libpeerpin-ucm does not link it. */
#ifndef PP_UCM_H
#define PP_UCM_H

#include <stdbool.h>
#include <stddef.h>

/*
 * If UCX is loaded, begins to watch: subscribes to the hook, opens /dev/peerpin and starts the thread.
 * Returns whether host memory is watched. Any thread
 */
bool pp_ucm_watches(void);

/* As pp_ucm_watches(), but begins nothing, and so never waits for the dynamic loader. */
bool pp_ucm_is_watching(void);

#endif

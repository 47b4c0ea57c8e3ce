/* SPDX-License-Identifier: MIT */
/* The signals by which users and terminals end a program. */
#ifndef ENDING_H
#define ENDING_H

#include <signal.h>

/* Returns the set of them, without signals that this process ignores: SIGHUP after nohup(1), SIGINT after a shell's &. */
sigset_t ending_signals(void);

#endif

/* SPDX-License-Identifier: MIT */
/* The signals by which users and terminals end a program. */
#ifndef ENDING_H
#define ENDING_H

#include <signal.h>

/* Returns their set, without signals that this process ignores: SIGHUP after nohup(1), SIGINT after & of a shell. */
sigset_t ending_signals(void);

#endif

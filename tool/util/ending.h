/* SPDX-License-Identifier: MIT */
/* The signals by which users and terminals end a program. */
#ifndef ENDING_H
#define ENDING_H

#include <signal.h>

/* Returns the set of these signals, without ignored signals: nohup(1) ignores SIGHUP, & of a shell ignores SIGINT. */
sigset_t ending_signals(void);

#endif

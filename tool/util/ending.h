/* SPDX-License-Identifier: MIT */
/* The signals by which users and terminals end a program. */
#ifndef ENDING_H
#define ENDING_H

#include <signal.h>

/* Returns those that this process does not ignore: nohup(1) ignores SIGHUP, a shell's & ignores SIGINT. */
sigset_t ending_signals(void);

#endif

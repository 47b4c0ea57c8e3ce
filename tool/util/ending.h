/* SPDX-License-Identifier: MIT */
/* Signals that people and terminals send to end a program; which of them do. */
#ifndef ENDING_H
#define ENDING_H

#include <signal.h>

/* Those that are not ignored: nohup(1) means SIGHUP, and a shell's & SIGINT. */
sigset_t ending_signals(void);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef EMU_VM_COMMAND_H
#define EMU_VM_COMMAND_H

#include "config.h"

/**
 * command_run - run a command of the user's, its output going to the stream
 *
 * Returns its exit status as a shell has it (128+n for signal n), once no
 * process is left but this one.
 */
int command_run(const struct config *config, char **argv);

#endif

/* SPDX-License-Identifier: MIT */
#ifndef EMU_VM_COMMAND_H
#define EMU_VM_COMMAND_H

#include "config.h"

/**
 * command_run - run a command of the user, with its output sent to the stream
 *
 * Kills all other processes after the command has ended. Returns the command's
 * exit status as a shell would: 128+n if signal n ended the command.
 */
int command_run(const struct config *config, char **argv);

#endif

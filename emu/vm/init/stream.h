/* SPDX-License-Identifier: MIT */
/* The guest's end of the stream to emu/vm/watch; see frame.h for its form. */
#ifndef EMU_VM_STREAM_H
#define EMU_VM_STREAM_H

#include <stddef.h>

#include "frame.h"

/** stream_open - wait for the port; returns 0 or -errno */
int stream_open(void);

/** stream_copy - pass on what fd holds now as one frame; 0 at its end, else > 0 */
int stream_copy(int fd, enum frame_kind kind);

/** stream_note - one line to the user's stderr, from the machine itself */
void stream_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** stream_running - what comes from here on is not the boot's any more */
void stream_running(void);

/** stream_command - the output that follows is that of the command @name */
void stream_command(const char *name);

/** stream_status - the exit status of the command that stream_command() named */
void stream_status(int status);

/** stream_verdict - the last word: the exit status of emu/vm/run */
void stream_verdict(int status);

#endif

/* SPDX-License-Identifier: MIT */
/* The guest's end of the stream to vm/watch on the host; frame.h has the format. */
#ifndef EMU_VM_STREAM_H
#define EMU_VM_STREAM_H

#include <stddef.h>

#include "frame.h"

/** stream_open - wait for the port; returns 0 or -errno */
int stream_open(void);

/** stream_copy - read once from @fd and send the data as one frame; returns 0 at EOF or on error, else 1 */
int stream_copy(int fd, enum frame_kind kind);

/** stream_note - send one line from pid 1 to the stderr of emu/vm/run */
void stream_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** stream_running - report that the VM has booted */
void stream_running(void);

/** stream_command - report that the command @name begins; output from now on is output of that command */
void stream_command(const char *name);

/** stream_status - send the exit status of the command that stream_command() named */
void stream_status(int status);

/** stream_verdict - send the last frame: the exit status of emu/vm/run */
void stream_verdict(int status);

#endif

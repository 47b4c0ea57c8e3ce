/* SPDX-License-Identifier: MIT */
/*
 * The stream of frames from the virtual machine to vm/watch on the host. One
 * virtio-serial port carries all frames in order: when the verdict arrives, all
 * output has arrived.
 */
#ifndef EMU_VM_FRAME_H
#define EMU_VM_FRAME_H

#include <stdint.h>

enum frame_kind {
	FRAME_STDOUT = 1,
	FRAME_STDERR,
	FRAME_VERDICT,		/* one byte: the exit status of emu/vm/run; the last frame */
	FRAME_RUNNING,		/* no bytes: the VM has booted */
	FRAME_COMMAND,		/* name of the command that begins, without a NUL */
	FRAME_STATUS,		/* one byte: the exit status of the command named last */
};

enum {
	FRAME_MAX = 16384,	/* data bytes; the virtio port accepts 32 KiB per write */
};

struct frame_head {
	uint32_t kind;
	uint32_t length;
};

struct frame {
	struct frame_head head;
	char data[FRAME_MAX];
};

#endif

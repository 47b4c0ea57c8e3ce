/* SPDX-License-Identifier: MIT */
/*
 * What the guest and the shim in the test program both map: the orders to the
 * shim, and what it saw. Its path is in the environment; it lies below /proc,
 * so that the test inherits no descriptor of ours.
 */
#ifndef JUDGE_SHARE_H
#define JUDGE_SHARE_H

#include <stdint.h>

#define SHARE_ENV "PEERPIN_JUDGE_SHARE"

enum {
	SHARE_EVENTS_MAX = 1024,
	SHARE_TEXT_MAX = 96,
	SHARE_DEVICES_MAX = 64,
	SHARE_ANY_MINOR = UINT32_MAX,
};

enum share_action {
	SHARE_NONE,
	SHARE_REVOKE,
	SHARE_KILL,
	SHARE_FORK,
	SHARE_FOREIGN,
	SHARE_INHERIT,
	SHARE_EXIT,
	SHARE_LATE_CLOSE,
	SHARE_RMMOD,
	SHARE_UNBIND,
	SHARE_DURING,
};

/* What the shim asks the guest for: a letter in the pipe */
enum share_ask {
	SHARE_ASK_RMMOD = 'R',	/* remove the driver's module, which is in use */
	SHARE_ASK_UNBIND = 'U',	/* take its devices from the driver */
	SHARE_ASK_STOP = 'S',	/* stop all threads of @caller */
};

enum share_answer {
	SHARE_DONE = 1,
	SHARE_NOT_DONE,
};

/** struct share_device - a device number that came with the driver under test */
struct share_device {
	uint32_t major;
	uint32_t minor;	/* or SHARE_ANY_MINOR */
};

/**
 * struct share - set before the test begins, except what is atomic
 * @nth: event to act at, from 1; 0: only record
 * @action: enum share_action
 * @usec: SHARE_DURING: revoke so long after the call began
 * @requests: pipe that wakes the guest up
 * @devices: of the driver under test
 * @count: atomic; events so far
 * @calls: atomic; those of them that were calls on @devices
 * @fired: atomic; the action was done
 * @missed: nothing was pinned, of which it could have taken anything away
 * @answered: atomic; enum share_answer, when the guest has done what it was asked for
 * @caller: process that acts, for SHARE_ASK_STOP
 * @changed: atomic; SHARE_FOREIGN: pages of the owner that another process could write
 * @events: what they were, in order
 * @took: how long each call lasted, in microseconds
 */
struct share {
	uint32_t nth;
	uint32_t action;
	uint32_t usec;
	char requests[64];
	uint32_t nr_devices;
	struct share_device devices[SHARE_DEVICES_MAX];
	uint32_t count;
	uint32_t calls;
	uint32_t fired;
	uint32_t missed;
	uint32_t answered;
	uint32_t caller;
	uint32_t changed;
	char events[SHARE_EVENTS_MAX][SHARE_TEXT_MAX];
	uint32_t took[SHARE_EVENTS_MAX];
};

#endif

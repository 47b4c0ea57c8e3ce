/* SPDX-License-Identifier: MIT */
/*
 * Memory shared by the guest and the shim in the test program, for the guest's orders and
 * the shim's results. The environment variable SHARE_ENV has the path of the memory. The
 * path is below /proc, so that the test inherits no file descriptor from the guest.
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
	SHARE_CLOSE,
	SHARE_DUP,
	SHARE_DURING,
};

/* Requests of the shim to the guest; the shim writes the letter to the pipe @requests */
enum share_ask {
	SHARE_ASK_RMMOD = 'R',	/* remove the driver's module, which is in use */
	SHARE_ASK_UNBIND = 'U',	/* unbind the driver's devices */
	SHARE_ASK_CLOSED = 'C',	/* look for pins: the test has closed the driver's devices */
	SHARE_ASK_STOP = 'S',	/* stop all threads of @caller */
};

enum share_answer {
	SHARE_DONE = 1,
	SHARE_NOT_DONE,
};

/** struct share_device - a device number that the driver under test registered */
struct share_device {
	uint32_t major;
	uint32_t minor;	/* minor number, or SHARE_ANY_MINOR */
};

/**
 * struct share - orders and results; the guest sets the orders before the test begins
 * @nth: number of the event at which the shim acts, from 1; 0: only record events
 * @action: enum share_action
 * @usec: SHARE_DURING: delay of the revocation after the call began; odd: revoke the oldest memory first
 * @requests: path of the pipe for requests to the guest
 * @devices: devices of the driver under test
 * @count: atomic; number of events so far
 * @calls: atomic; number of events that were calls on @devices
 * @fired: atomic; true after the shim did the action
 * @missed: the action had no effect, because no memory was pinned, or no device was bound
 * @mapped: when the shim revoked memory, a CPU mapping of @devices existed
 * @answered: atomic; enum share_answer, set after the guest handled a request
 * @caller: process; SHARE_ASK_STOP stops its threads
 * @changed: atomic; SHARE_FOREIGN: pages of the owner that another process wrote
 * @bytes: atomic; a sum of the bytes that the test copied to the GPU; 0: the test copied none
 * @events: a text for each event, in order
 * @took: duration of each call in microseconds
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
	uint32_t mapped;
	uint32_t answered;
	uint32_t caller;
	uint32_t changed;
	uint64_t bytes;
	char events[SHARE_EVENTS_MAX][SHARE_TEXT_MAX];
	uint32_t took[SHARE_EVENTS_MAX];
};

#endif

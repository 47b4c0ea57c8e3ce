/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The monitor: what consumers of nv-p2p.h do wrong, counted by rule and by the
 * module that did it. Breaches are lines in the log, unless they come too fast;
 * all are in /sys/kernel/debug/emugpu/violations. With strict=1 each is a WARN
 * as well.
 *
 * Context: reporting takes a leaf spinlock; it may be done under any lock.
 */
#ifndef _EMUGPU_MONITOR_H
#define _EMUGPU_MONITOR_H

#include <linux/types.h>

#include "emugpu.h"

enum { EMUGPU_MODULE_LEN = 48 };

/* In an exported call: an address in its caller */
#define EMUGPU_CALLER __builtin_return_address(0)

/*
 * Rule @rule was broken at @caller, by the module there or by the one of that
 * name. Where the name is known it is to be given: who ends a function with a
 * call leaves no address of his own.
 */
void emugpu_violation(enum emugpu_rule rule, const void *caller);
void emugpu_violation_at(enum emugpu_rule rule, const char *module, const void *caller);

/* The same, seen only later */
void emugpu_violation_by(enum emugpu_rule rule, const char *module);

/* Name of the module that @caller lies in, EMUGPU_MODULE_LEN bytes, cut off where it is longer */
void emugpu_monitor_module(const void *caller, char *module);

/* Whether @module is of the module whose whole name that is */
bool emugpu_monitor_is(const char *module, const char *name);

/* Breaches of one rule, and who did it last; of all rules but the one that depends on the machine's speed */
u64 emugpu_monitor_count(enum emugpu_rule rule, char *module);
u64 emugpu_monitor_total(void);

/* A callback at @function has run for so many nanoseconds. */
void emugpu_monitor_callback_time(const void *function, s64 ns);

int emugpu_monitor_init(void);
void emugpu_monitor_exit(void);

#endif

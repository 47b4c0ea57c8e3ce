/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The monitor: what consumers of nv-p2p.h do wrong, counted by rule and by the
 * module that did it. Each breach is a line in the log; all are in
 * /sys/kernel/debug/emugpu/violations. With strict=1 each is a WARN as well.
 *
 * Context: reporting takes a leaf spinlock; it may be done under any lock.
 */
#ifndef _EMUGPU_MONITOR_H
#define _EMUGPU_MONITOR_H

#include <linux/types.h>

#include "../include/emugpu.h"

enum { EMUGPU_MODULE_LEN = 48 };

/* In an exported call: an address in its caller */
#define EMUGPU_CALLER __builtin_return_address(0)

/* Rule @rule was broken by the code at @caller, or by the module of that name. */
void emugpu_violation(enum emugpu_rule rule, const void *caller);
void emugpu_violation_by(enum emugpu_rule rule, const char *module);

/* Name of the module that @caller lies in, EMUGPU_MODULE_LEN bytes */
void emugpu_monitor_module(const void *caller, char *module);

/* Breaches of one rule, and a module that did it; of all rules but the one that depends on the machine's speed */
u64 emugpu_monitor_count(enum emugpu_rule rule, char *module);
u64 emugpu_monitor_total(void);

/* A callback at @function has run for so many nanoseconds. */
void emugpu_monitor_callback_time(const void *function, s64 ns);

int emugpu_monitor_init(void);
void emugpu_monitor_exit(void);

#endif

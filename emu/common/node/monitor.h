/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The monitor: violations of the rules of nv-p2p.h, counted by rule and by module.
 * Each is a line in the kernel log (rate-limited), and counted in
 * /sys/kernel/debug/emugpu/violations. With strict=1 each is also a WARN.
 *
 * Context: any lock may be held; reporting takes a leaf spinlock.
 */
#ifndef _EMUGPU_MONITOR_H
#define _EMUGPU_MONITOR_H

#include <linux/types.h>

#include "emugpu.h"

enum { EMUGPU_MODULE_LEN = 48 };

/* In an exported function: the return address in its caller */
#define EMUGPU_CALLER __builtin_return_address(0)

/*
 * Reports a violation of @rule at @caller, by the module there or by @module. Pass the
 * name if it is known: after a tail call the return address is in another module.
 */
void emugpu_violation(enum emugpu_rule rule, const void *caller);
void emugpu_violation_at(enum emugpu_rule rule, const char *module, const void *caller);

/* The same, for a violation that is found later: no address */
void emugpu_violation_by(enum emugpu_rule rule, const char *module);

/* Copies the name of the module with @caller to @module, truncated to EMUGPU_MODULE_LEN bytes. */
void emugpu_monitor_module(const void *caller, char *module);

/* Whether @module is the (perhaps truncated) form of @name */
bool emugpu_monitor_is(const char *module, const char *name);

/* Violations of one rule, and the last module; violations of all rules except slow-callback, which depends on speed */
u64 emugpu_monitor_count(enum emugpu_rule rule, char *module);
u64 emugpu_monitor_total(void);

/* The callback @function has run for @ns nanoseconds. */
void emugpu_monitor_callback_time(const void *function, s64 ns);

int emugpu_monitor_init(void);
void emugpu_monitor_exit(void);

#endif

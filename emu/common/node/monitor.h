/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The monitor: counts violations of the rules of nv-p2p.h, by rule and by module. The counts are in
 * /sys/kernel/debug/emugpu/violations. Each violation is also a line in the kernel log
 * (rate-limited), and with strict=1 a WARN.
 *
 * Context: process or interrupt, not NMI. Any lock may be held; reporting takes a leaf spinlock.
 */
#ifndef _EMUGPU_MONITOR_H
#define _EMUGPU_MONITOR_H

#include <linux/types.h>

#include "emugpu.h"

enum { EMUGPU_MODULE_LEN = 48 };

/* In an exported function: the return address in its caller */
#define EMUGPU_CALLER __builtin_return_address(0)

/*
 * Reports a violation of @rule at address @caller. emugpu_violation() finds the module by the
 * address. If the module is known, call emugpu_violation_at(): after a tail call the address is in
 * another module.
 */
void emugpu_violation(enum emugpu_rule rule, const void *caller);
void emugpu_violation_at(enum emugpu_rule rule, const char *module, const void *caller);

/*
 * If the consumer has read @pointer from memory that the slab allocator filled when it was freed (slub_debug=P), or that
 * judge.ko filled when the consumer allocated it, reports that and returns true. NVIDIA's driver would crash.
 */
bool emugpu_violation_of_pointer(const void *pointer, const void *caller);

/* Reports a violation found only after the violating call: its address is unknown. */
void emugpu_violation_by(enum emugpu_rule rule, const char *module);

/* Copies the name of the module with @caller to @module, truncated to EMUGPU_MODULE_LEN bytes. */
void emugpu_monitor_module(const void *caller, char *module);

/* Whether @module, a perhaps truncated name, stands for the module @name */
bool emugpu_monitor_is(const char *module, const char *name);

/*
 * emugpu_monitor_count(): violations of one rule; *@module: the module of the last violation.
 * emugpu_monitor_total(): violations of all rules except slow-callback, which depends on the speed of the VM.
 */
u64 emugpu_monitor_count(enum emugpu_rule rule, char *module);
u64 emugpu_monitor_total(void);

/* The period for emugpu_vmtime_begin() that suits callback_ms, in microseconds */
unsigned int emugpu_monitor_callback_period(void);

/* Reports a slow-callback violation if @ns, the run time of callback @function, exceeds callback_ms. */
void emugpu_monitor_callback_time(const void *function, s64 ns);

int emugpu_monitor_init(void);
void emugpu_monitor_exit(void);

#endif

/* SPDX-License-Identifier: MIT */
/* The kernel log, which the VM's console shows and emu/vm/run judges. */
#ifndef EMU_VM_LOG_H
#define EMU_VM_LOG_H

/**
 * log_line - write one line, given without its newline, to the kernel log
 *
 * The line is one record, so other messages cannot split it. The line is on the console
 * when this function returns.
 */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** log_taints - the taint bits of the kernel: /proc/sys/kernel/tainted */
unsigned long log_taints(void);

#endif

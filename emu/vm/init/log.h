/* SPDX-License-Identifier: MIT */
/* The kernel's log, which the machine's console shows and emu/vm/run judges. */
#ifndef EMU_VM_LOG_H
#define EMU_VM_LOG_H

/**
 * log_line - one line of ours, without its end
 *
 * It is one record: unlike what is written to the console, nothing comes
 * between its words. It is on the console when this returns.
 */
void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/** log_taints - what the kernel says has befallen it: bits of /proc/sys/kernel/tainted */
unsigned long log_taints(void);

#endif

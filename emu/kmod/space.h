/* SPDX-License-Identifier: GPL-2.0 */
/* The address spaces of all processes. */
#ifndef _EMUGPU_SPACE_H
#define _EMUGPU_SPACE_H

struct mm_struct;

/*
 * Calls @visit for the address space of each process, with its mmap lock held for reading. Skips a process if this lock
 * stays held by a writer: that thread may wait for the API lock, or for views that the caller has stopped. API lock held.
 * Returns 0, -ENOMEM, or -EAGAIN: a process was skipped.
 */
int emugpu_spaces_visit(void (*visit)(struct mm_struct *mm, void *data), void *data);

/* Logs that a process was skipped. Call it if no other search follows. */
void emugpu_spaces_skipped(void);

#endif

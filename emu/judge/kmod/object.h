/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects: memory that the subject has allocated and that is not freed yet.
 *
 * Context: any but NMI. The probes call this code, so it must not allocate. The table
 * has a fixed size; objects beyond 65536 are counted but not watched.
 */
#ifndef _JUDGE_OBJECT_H
#define _JUDGE_OBJECT_H

#include <linux/types.h>

struct seq_file;

void judge_object_add(const void *at, size_t size, unsigned long caller);
void judge_object_remove(const void *at);
void judge_objects_remove(const void *const *all, size_t n);

/* Stores the callers' names: after the subject is unloaded, kallsyms no longer knows its functions. */
void judge_objects_name(void);

/* Writes a line per object: bytes, caller */
void judge_objects_show(struct seq_file *seq);

/* Forgets all objects. */
void judge_objects_reset(void);

#endif

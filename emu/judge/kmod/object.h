/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects: memory that the subject has allocated and that is not freed yet.
 *
 * Context: any but NMI. The probes run there, so this code allocates nothing: the
 * table is fixed. Objects beyond 65536 are counted but not watched.
 */
#ifndef _JUDGE_OBJECT_H
#define _JUDGE_OBJECT_H

#include <linux/types.h>

struct seq_file;

void judge_object_add(const void *at, size_t size, unsigned long caller);
void judge_object_remove(const void *at);
void judge_objects_remove(const void *const *all, size_t n);

/* Stores the callers as names: kallsyms forgets them when the subject is unloaded. */
void judge_objects_name(void);

/* Writes a line per object: bytes, caller */
void judge_objects_show(struct seq_file *seq);

/* Forgets all objects. */
void judge_objects_reset(void);

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects: memory that the subject has allocated and nobody has freed yet.
 *
 * Context: any but NMI, as the probes run in; there is no allocation here, so
 * beyond 65536 objects the rest is not watched, and said to be so.
 */
#ifndef _JUDGE_OBJECT_H
#define _JUDGE_OBJECT_H

#include <linux/types.h>

struct seq_file;

void judge_object_add(const void *at, size_t size, unsigned long caller);
void judge_object_remove(const void *at);
void judge_objects_remove(const void *const *all, size_t n);

/* Callers get names, for when the subject has gone. */
void judge_objects_name(void);

/* A line each: bytes, caller */
void judge_objects_show(struct seq_file *seq);

/* Forget them all. */
void judge_objects_reset(void);

#endif

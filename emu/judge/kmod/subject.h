/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The subject: the module whose memory is watched. It is named before it is
 * loaded, so that its init function is watched too.
 */
#ifndef _JUDGE_SUBJECT_H
#define _JUDGE_SUBJECT_H

#include <linux/types.h>

/* Any context: does @address lie in the subject? */
bool judge_subject_has(unsigned long address);

/* 0, or -EBUSY: the present one is loaded. One that was loaded before it was named is not watched. */
int judge_subject_set(const char *name);

/* Writes its name, or nothing, to @name, MODULE_NAME_LEN bytes. */
void judge_subject_name(char *name);

/* The kernel has taken it since it was named, and called its init function unless a parameter was wrong. */
extern bool judge_subject_began;

int judge_subject_init(void);
void judge_subject_exit(void);

#endif

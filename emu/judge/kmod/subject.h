/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The subject: the watched module. Its name is set before it is loaded, so that its
 * init function is watched too.
 */
#ifndef _JUDGE_SUBJECT_H
#define _JUDGE_SUBJECT_H

#include <linux/types.h>

/* Whether @address lies in the subject. Any context. */
bool judge_subject_has(unsigned long address);

/* Returns 0, or -EBUSY while the present subject is loaded. A module loaded before this call is not watched. */
int judge_subject_set(const char *name);

/* Copies the subject's name, or "", to @name, which has MODULE_NAME_LEN bytes. */
void judge_subject_name(char *name);

/* Whether the subject was loaded since its name was set. If so, its init ran, unless a module parameter was wrong. */
extern bool judge_subject_began;

int judge_subject_init(void);
void judge_subject_exit(void);

#endif

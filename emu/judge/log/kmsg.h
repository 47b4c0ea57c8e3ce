/* SPDX-License-Identifier: MIT */
/* The kernel's log of one scenario. */
#ifndef JUDGE_KMSG_H
#define JUDGE_KMSG_H

#define JUDGE_MARK "judge: a scenario begins"

/** kmsg_open - once; returns 0 or -errno */
int kmsg_open(void);

/**
 * kmsg_mark - what follows belongs to the scenario that has begun, and so does a splat since the last one ended
 *
 * The console's log has a line of it, by which the host finds what a machine died of: emu/judge/run/death.c.
 * Returns 0 or -errno.
 */
int kmsg_mark(void);

/** kmsg_judge - report what the kernel complained of since */
void kmsg_judge(void);

/** kmsg_tell - print the lines since that matter */
void kmsg_tell(void);

/** kmsg_last - the last of them; "": there is none */
const char *kmsg_last(void);

/** kmsg_text - the text of a record of /dev/kmsg, which is changed; NULL: there is none */
char *kmsg_text(char *record, int *out_level);

#endif

/* SPDX-License-Identifier: MIT */
/* The kernel log of one scenario. */
#ifndef JUDGE_KMSG_H
#define JUDGE_KMSG_H

#define JUDGE_MARK "judge: a scenario begins"

/** kmsg_open - once; returns 0 or -errno */
int kmsg_open(void);

/**
 * kmsg_mark - begin a scenario; a splat logged since the end of the last scenario counts for this one
 *
 * Writes a line to the kernel log. The host (emu/judge/run/death.c) searches the log behind the last such
 * line when the VM has died. Returns 0 or -errno.
 */
int kmsg_mark(void);

/** kmsg_judge - report the splats since kmsg_mark() */
void kmsg_judge(void);

/** kmsg_tell - print the lines of splats, warnings and errors since kmsg_mark() */
void kmsg_tell(void);

/** kmsg_last - the last such line; "": none */
const char *kmsg_last(void);

/** kmsg_text - the text in a record of /dev/kmsg; modifies the record; NULL if it has no text */
char *kmsg_text(char *record, int *out_level);

#endif

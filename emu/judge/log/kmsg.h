/* SPDX-License-Identifier: MIT */
/* The kernel log of one scenario. */
#ifndef JUDGE_KMSG_H
#define JUDGE_KMSG_H

#define JUDGE_MARK "judge: a scenario begins"

/** kmsg_open - call once; returns 0 or -errno */
int kmsg_open(void);

/**
 * kmsg_mark - begin a scenario; a splat logged since the end of the last scenario counts for the new scenario
 *
 * Writes JUDGE_MARK to the kernel log. After a VM has died, the host (emu/judge/run/death.c) searches the log
 * after the last mark. Returns 0 or -errno.
 */
int kmsg_mark(void);

/** kmsg_judge - report the splats since kmsg_mark() */
void kmsg_judge(void);

/** kmsg_tell - print the lines of splats, warnings and errors since kmsg_mark() */
void kmsg_tell(void);

/** kmsg_last - the last line that kmsg_tell() would print, or "" */
const char *kmsg_last(void);

/** kmsg_text - the text in a record of /dev/kmsg, or NULL; modifies the record; @out_level: its log level */
char *kmsg_text(char *record, int *out_level);

#endif

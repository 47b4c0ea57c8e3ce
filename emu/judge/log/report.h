/* SPDX-License-Identifier: MIT */
/* What the guest tells the host: a line each on stdout, flushed, of one scenario after the other. */
#ifndef JUDGE_REPORT_H
#define JUDGE_REPORT_H

#include <stdbool.h>
#include <stddef.h>

/** report_begin - a scenario */
void report_begin(const char *id);

/** report_line - "WORD ID TEXT" */
__attribute__((format(printf, 2, 3)))
void report_line(const char *word, const char *format, ...);

/** report_finding - a breach of @rule; the same one is told once a scenario */
__attribute__((format(printf, 2, 3)))
void report_finding(const char *rule, const char *format, ...);

/** report_findings - how many there were in this scenario */
size_t report_findings(void);

/** report_taint - nothing more can be judged on this machine */
void report_taint(void);

/** report_end - returns whether it was tainted */
bool report_end(void);

#endif

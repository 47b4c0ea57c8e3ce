/* SPDX-License-Identifier: MIT */
/* The guest's reports to the host: lines on stdout, in the order of the scenarios. Each line is flushed at once. */
#ifndef JUDGE_REPORT_H
#define JUDGE_REPORT_H

#include <stdbool.h>
#include <stddef.h>

/** report_begin - begin a scenario */
void report_begin(const char *id);

/** report_skip - report that scenario @id is left out */
void report_skip(const char *id);

/** report_line - print "WORD ID TEXT" */
__attribute__((format(printf, 2, 3)))
void report_line(const char *word, const char *format, ...);

/** report_finding - report a breach of @rule; identical findings are printed once per scenario */
__attribute__((format(printf, 2, 3)))
void report_finding(const char *rule, const char *format, ...);

/** report_findings - number of findings in this scenario */
size_t report_findings(void);

/** report_taint - note that this VM cannot judge further scenarios */
void report_taint(void);

/** report_end - end the scenario; returns whether the VM is tainted */
bool report_end(void);

#endif

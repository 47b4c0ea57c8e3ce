/* SPDX-License-Identifier: MIT */
/* Finds splats in the kernel log, line by line, and the rule that each splat is a breach of. */
#ifndef JUDGE_SPLAT_H
#define JUDGE_SPLAT_H

#include <stdbool.h>

enum { SPLAT_TEXT_MAX = 256 };

/**
 * struct splat - a splat, and the state of the parser; zeroed at first
 * @rule: rule found so far; NULL: no splat is open
 * @text: its first line
 * @inside: number of lines that may still belong to it
 * @registers: its register dump is of the fault or the hang, so search it for poison
 * @cut: the line before was "cut here", the begin of a warning
 * @message: the line between "cut here" and the first line, or ""
 */
struct splat {
	const char *rule;
	char text[SPLAT_TEXT_MAX];
	int inside;
	bool registers;
	bool cut;
	char message[SPLAT_TEXT_MAX];
};

/**
 * splat_feed - parse one line of the kernel log
 *
 * Returns true if this line ends an earlier splat, which is then in @out.
 */
bool splat_feed(struct splat *splat, const char *line, struct splat *out);

/** splat_end - end of the log: returns whether a splat was open, which is then in @out */
bool splat_end(struct splat *splat, struct splat *out);

/** splat_disturbs - later findings may be its consequence: this VM cannot judge further scenarios */
bool splat_disturbs(const struct splat *splat);

/** splat_is_open - whether the last line belongs to a splat */
bool splat_is_open(const struct splat *splat);

#endif

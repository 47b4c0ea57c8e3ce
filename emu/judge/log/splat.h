/* SPDX-License-Identifier: MIT */
/* What the kernel complains of, line by line, and the rule that each complaint is a breach of. */
#ifndef JUDGE_SPLAT_H
#define JUDGE_SPLAT_H

#include <stdbool.h>

enum { SPLAT_TEXT_MAX = 256 };

/**
 * struct splat - a complaint, and the reader's state; zeroed at first
 * @rule: of the complaint so far
 * @text: its first line
 * @inside: lines of it that may still come
 * @registers: of where the CPU faults or spins: they tell more
 * @cut: the line before was the one that begins a warning
 * @message: what stood before its first line, or ""
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
 * splat_feed - one line of the kernel's log
 *
 * Returns true when a complaint before this line is over: it is in @out.
 */
bool splat_feed(struct splat *splat, const char *line, struct splat *out);

/** splat_end - no more lines: returns whether one was open, which is then in @out */
bool splat_end(struct splat *splat, struct splat *out);

/** splat_disturbs - what comes after it may be its doing: nothing more can be judged on this machine */
bool splat_disturbs(const struct splat *splat);

/** splat_is_open - the last line belongs to a complaint */
bool splat_is_open(const struct splat *splat);

#endif

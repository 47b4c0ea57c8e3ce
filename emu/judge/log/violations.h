/* SPDX-License-Identifier: MIT */
/* The table of breaches that the emulator keeps: "COUNT MODULE WHERE RULE: TEXT" a line. */
#ifndef JUDGE_VIOLATIONS_H
#define JUDGE_VIOLATIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	VIOLATIONS_MAX = 256,
};

struct violation {
	uint64_t count;
	char module[64];
	char where[128];
	char rule[48];
	char text[192];
};

struct violations {
	size_t nr;
	struct violation at[VIOLATIONS_MAX];
};

/** violation_parse - one line of the table without its end; returns false for any other line */
bool violation_parse(const char *line, struct violation *out);

/** violations_read - the table as it is now; returns 0 or -errno */
int violations_read(struct violations *out);

/** violations_new - how often @v happened since @before was read */
uint64_t violations_new(const struct violations *before, const struct violation *v);

#endif

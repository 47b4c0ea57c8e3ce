/* SPDX-License-Identifier: MIT */
/* The emulator's table of violations, with lines "COUNT MODULE WHERE RULE: TEXT". */
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

/** violation_parse - parse a line of the table, without its newline; returns false for any other line */
bool violation_parse(const char *line, struct violation *out);

/** violations_read - read the current table; returns 0 or -errno */
int violations_read(struct violations *out);

/** violations_new - number of times that @v happened since @before was read */
uint64_t violations_new(const struct violations *before, const struct violation *v);

#endif

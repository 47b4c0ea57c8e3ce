/* SPDX-License-Identifier: MIT */
/*
 * Counts of the emulated GPU driver's monitor, by rule:
 *
 *	rules_watch(fd);
 *	...
 *	EXPECT_BROKE(fd, EMUGPU_RULE_UNALIGNED, 1);	this rule once, all others never
 *	EXPECT_NO_BREACH(fd);
 *
 * Both macros also restart the counting. The rule on slow callbacks is checked only if it is the
 * expected rule, because the time of a callback depends on the computer.
 */
#ifndef TEST_RULE_H
#define TEST_RULE_H

#include <stdbool.h>

#include "test/vm/harness/emu.h"
#include "test/vm/harness/vmtest.h"

/* Name of the module that breaks the rules in the tests of nv-p2p.h */
static const char *rules_culprit = "p2p_check";
static uint64_t rules_before[EMUGPU_RULES];

static inline void rules_watch(int fd)
{
	char module[48];
	unsigned int i;

	for (i = 0; i < EMUGPU_RULES; i++)
		rules_before[i] = emu_violations(fd, i, module);
}

static inline void rule_check(int fd, int line, unsigned int rule, uint64_t times)
{
	char module[48];
	uint64_t count = emu_violations(fd, rule, module) - rules_before[rule];

	if (count != times)
		vmtest_end(VMTEST_FAILED, "line %d: rule %u broken %lu times, not %lu, last by %s", line, rule,
			   (unsigned long)count, (unsigned long)times, module);
	else if (times && strcmp(module, rules_culprit))
		vmtest_end(VMTEST_FAILED, "line %d: rule %u broken by %s, not %s", line, rule, module, rules_culprit);
}

static inline void rules_check(int fd, int line, enum emugpu_rule rule, uint64_t times)
{
	unsigned int i;

	for (i = 0; i < EMUGPU_RULES; i++)
		if (i == rule)
			rule_check(fd, line, i, times);
		else if (i != EMUGPU_RULE_SLOW_CALLBACK)
			rule_check(fd, line, i, 0);
	rules_watch(fd);
}

#define EXPECT_BROKE(fd, rule, times) \
	do { \
		rules_check(fd, __LINE__, rule, times); \
		CHECK_CASE(); \
	} while (0)

#define EXPECT_NO_BREACH(fd) EXPECT_BROKE(fd, EMUGPU_RULES, 0)

#endif

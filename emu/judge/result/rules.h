/* SPDX-License-Identifier: MIT */
/* The rules for drivers, the most specific rule first. The first broken rule is the report's headline. */
#ifndef VERIFY_RULES_H
#define VERIFY_RULES_H

#include <stddef.h>

/**
 * struct rule - a rule for drivers
 * @section: section of NVIDIA's guide; "": the rule is not from the guide
 * @text: description of the violation
 * @needs: bits of enum tries; the rule counts as tried only if ended scenarios had these bits
 */
struct rule {
	const char *name;
	const char *section;
	const char *text;
	unsigned int needs;
};

/* Returns NULL after the last rule. */
const struct rule *rule_at(size_t i);

/* Index of the rule @name; for an unknown name, index of the last rule, "other" */
size_t rule_index(const char *name);

#endif

/* SPDX-License-Identifier: MIT */
/* The rules for drivers, most specific first: if several are broken, the first one is the headline. */
#ifndef VERIFY_RULES_H
#define VERIFY_RULES_H

#include <stddef.h>

/**
 * struct rule
 * @section: section of NVIDIA's guide; "": not from the guide
 * @text: description of the violation
 * @needs: bits of enum tries: only scenarios with these bits can find a violation
 */
struct rule {
	const char *name;
	const char *section;
	const char *text;
	unsigned int needs;
};

/* NULL after the last rule. */
const struct rule *rule_at(size_t i);

/* The index of @name; for an unknown name the index of the last rule, "other". */
size_t rule_index(const char *name);

#endif

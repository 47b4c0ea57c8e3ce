/* SPDX-License-Identifier: MIT */
/* What a driver can do wrong. The most telling rules come first: of several broken ones, the first names the fault. */
#ifndef VERIFY_RULES_H
#define VERIFY_RULES_H

#include <stddef.h>

/**
 * struct rule
 * @section: of NVIDIA's guide; "" where it does not say it
 * @text: what was done wrong
 * @needs: bits of enum tries: scenarios without them cannot tell
 */
struct rule {
	const char *name;
	const char *section;
	const char *text;
	unsigned int needs;
};

/* NULL behind the last. */
const struct rule *rule_at(size_t i);

/* The index; of a name that is not there, that of the last rule, which is for those. */
size_t rule_index(const char *name);

#endif

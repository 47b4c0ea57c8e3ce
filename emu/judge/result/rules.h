/* SPDX-License-Identifier: MIT */
/* The rules for drivers, by severity; of one severity, causes come before symptoms. The first broken rule is the headline. */
#ifndef VERIFY_RULES_H
#define VERIFY_RULES_H

#include <stddef.h>

enum severity {
	SEVERITY_CRASH,		/* the kernel, a process or data can be damaged, or hang */
	SEVERITY_ACCESS,	/* memory or an object is used after its end */
	SEVERITY_LEAK,		/* a resource stays in use until the machine is booted again */
	SEVERITY_CONTRACT,	/* a call that the contract forbids, without harm here */
	SEVERITY_ADVICE,	/* harmless with current drivers of the GPU */
};

/**
 * struct rule - a rule for drivers
 * @section: section of NVIDIA's guide; "": the rule is not from the guide
 * @text: description of the violation
 * @needs: bits of enum tries; the rule counts as tried only if ended scenarios had these bits
 */
struct rule {
	const char *name;
	const char *section;
	enum severity severity;
	const char *text;
	unsigned int needs;
};

/* Returns NULL after the last rule. */
const struct rule *rule_at(size_t i);

const char *severity_name(enum severity severity);

/* Index of the rule @name; for an unknown name, index of the last rule, "other" */
size_t rule_index(const char *name);

#endif

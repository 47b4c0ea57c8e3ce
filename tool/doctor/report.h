/* SPDX-License-Identifier: MIT */
/* doctor's report: a list of findings. */
#ifndef DOCTOR_REPORT_H
#define DOCTOR_REPORT_H

#include <stddef.h>

struct check;

enum health {
	HEALTH_OK,
	HEALTH_WARN,
	HEALTH_FAIL,
	HEALTH_UNSEEN,		/* the check could not read its input, usually without root */
	NR_HEALTHS,
};

/**
 * struct finding - a line of the report
 * @subject: the object of the finding: a PCI address, an RDMA device, a module, "machine"
 * @why: the reason, with the values that were read
 * @type: the command to type; empty only if @health is HEALTH_OK
 */
struct finding {
	const struct check *check;
	enum health health;
	char subject[64];
	char why[400];
	char type[1024];
};

/** struct report - a list of findings; @check: the running check, which report_add() stores in each finding */
struct report {
	const struct check *check;
	struct finding *at;
	size_t count;
};

/* Adds a finding. Bytes that are not printable ASCII become "?", because the texts come from untrusted files. */
void report_add(struct report *r, enum health health, const char *subject, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* Sets the command to type for the finding that was added last. */
void report_type(struct report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

size_t report_count(const struct report *r, enum health health);
void report_free(struct report *r);

const char *health_name(enum health health);

#endif

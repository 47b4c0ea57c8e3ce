/* SPDX-License-Identifier: MIT */
/* What doctor found: one finding for each thing that was looked at. */
#ifndef DOCTOR_REPORT_H
#define DOCTOR_REPORT_H

#include <stddef.h>

struct check;

enum health {
	HEALTH_OK,
	HEALTH_WARN,
	HEALTH_FAIL,
	HEALTH_UNSEEN,		/* it could not be seen, mostly because that needs root */
	NR_HEALTHS,
};

/**
 * struct finding - a line of the report
 * @subject: a PCI address, an RDMA device, a module, "machine"
 * @why: with the values that were seen
 * @type: what to type; empty only if all is well
 */
struct finding {
	const struct check *check;
	enum health health;
	char subject[64];
	char why[400];
	char type[1024];
};

/** struct report - @check: whose findings come in now */
struct report {
	const struct check *check;
	struct finding *at;
	size_t count;
};

/* What is no printable ASCII becomes a question mark: files may be hostile. */
void report_add(struct report *r, enum health health, const char *subject, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* What to type, for the finding that was added last. */
void report_type(struct report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

size_t report_count(const struct report *r, enum health health);
void report_free(struct report *r);

const char *health_name(enum health health);

#endif

// SPDX-License-Identifier: MIT
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include "report.h"
#include "tool/util/grow.h"
#include "tool/util/printable.h"

static const char *const names[NR_HEALTHS] = {
	[HEALTH_OK] = "OK",
	[HEALTH_WARN] = "WARN",
	[HEALTH_FAIL] = "FAIL",
	[HEALTH_UNSEEN] = "?",
};

const char *health_name(enum health health)
{
	return names[health];
}

static struct finding *new_finding(struct report *r)
{
	r->at = grow(r->at, r->count, sizeof(*r->at));
	return &r->at[r->count++];
}

void report_add(struct report *r, enum health health, const char *subject, const char *format, ...)
{
	struct finding *f = new_finding(r);
	va_list args;

	f->check = r->check;
	f->health = health;
	snprintf(f->subject, sizeof(f->subject), "%s", subject);
	va_start(args, format);
	vsnprintf(f->why, sizeof(f->why), format, args);
	va_end(args);
	make_printable(f->subject);
	make_printable(f->why);
}

void report_type(struct report *r, const char *format, ...)
{
	struct finding *f = &r->at[r->count - 1];
	va_list args;

	va_start(args, format);
	vsnprintf(f->type, sizeof(f->type), format, args);
	va_end(args);
	make_printable(f->type);
}

size_t report_count(const struct report *r, enum health health)
{
	size_t i, n = 0;

	for (i = 0; i < r->count; i++)
		n += r->at[i].health == health;
	return n;
}

void report_free(struct report *r)
{
	free(r->at);
	r->at = NULL;
	r->count = 0;
}

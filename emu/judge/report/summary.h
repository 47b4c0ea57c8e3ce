/* SPDX-License-Identifier: MIT */
/* What all results together say, rule by rule; all forms of the report are made of this. */
#ifndef VERIFY_SUMMARY_H
#define VERIFY_SUMMARY_H

#include "emu/judge/result/rules.h"
#include "emu/judge/run/run.h"

enum verdict {
	VERDICT_OK,
	VERDICT_BROKEN,
	VERDICT_NOT_TRIED,	/* nothing was run that would have shown it */
};

/* struct judgement - @result, @finding: where it was broken first */
struct judgement {
	const struct rule *rule;
	enum verdict verdict;
	size_t times;
	const struct result *result;
	const struct finding *finding;
};

/**
 * struct summary
 * @headline: the most telling of the broken rules; NULL: none is
 * @ran: scenarios that ended
 * @untold: those of them in which not all was seen
 * @untried: what was left to run would have tried rules that were not
 * @why: see summary_stop()
 */
struct summary {
	const struct run *run;
	struct judgement *judgements;
	size_t count;
	const struct judgement *headline;
	size_t broken;
	size_t ran;
	size_t untold;
	bool untried;
	char why[256];
	long ms;
};

void summary_make(struct summary *out, const struct run *run);
void summary_free(struct summary *summary);

const char *verdict_name(enum verdict verdict);

/* Why not everything was run, seen or tried, for people; NULL: it was */
const char *summary_stop(const struct summary *summary);

/* "clean", "violations" or "incomplete": nothing was found, but not all was run or seen */
const char *summary_outcome(const struct summary *summary);

/* EXIT_OK clean, EXIT_FAILED violations, EXIT_USAGE incomplete */
int summary_status(const struct summary *summary);

#endif

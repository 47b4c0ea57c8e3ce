/* SPDX-License-Identifier: MIT */
/* Sums up all results, rule by rule; the text, JSON and HTML reports use this summary. */
#ifndef VERIFY_SUMMARY_H
#define VERIFY_SUMMARY_H

#include "emu/judge/result/rules.h"
#include "emu/judge/run/run.h"

enum verdict {
	VERDICT_OK,
	VERDICT_BROKEN,
	VERDICT_NOT_TRIED,	/* no scenario that could find a violation was run */
};

/* struct judgement - a rule's verdict; @times: number of violations; @result, @finding: the first violation */
struct judgement {
	const struct rule *rule;
	enum verdict verdict;
	size_t times;
	const struct result *result;
	const struct finding *finding;
};

/**
 * struct summary
 * @headline: the broken rule that comes first in rules.c; NULL: no rule is broken
 * @ran: number of scenarios that ended
 * @untold: number of ended scenarios in which a violation may have been missed
 * @untried: a rule was not tested, but a scenario that was not run could test it
 * @why: text for summary_stop() if @untold is not 0
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

/* Text: why the run is incomplete; NULL if the run is complete */
const char *summary_stop(const struct summary *summary);

/* "clean", "violations", or "incomplete" (no violation was found, but some scenario was not run or not fully seen) */
const char *summary_outcome(const struct summary *summary);

/* Exit status: EXIT_OK clean, EXIT_FAILED violations, EXIT_USAGE incomplete */
int summary_status(const struct summary *summary);

#endif

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

/* struct left - a kind of scenario of which @left did not run; @never: none of this kind ran */
struct left {
	const struct row *row;
	size_t left;
	bool never;
};

/**
 * struct summary
 * @judgements: in the order of rules.c, but a rule that explains all wrong data precedes data-wrong
 * @headline: the first broken rule of @judgements; NULL: no rule is broken
 * @ran: number of scenarios that ended
 * @untold: number of ended scenarios in which a violation may have been missed
 * @left: the kinds of scenarios of which some did not run, @nr_left of them
 * @untried: a scenario of the first pass did not run, or the plan is not known
 * @same_bytes: in two processes the test copied the same bytes to the GPU
 * @refused: why the kernel refused the driver beside the other of NVIDIA's drivers; NULL: it did not
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
	struct left *left;
	size_t nr_left;
	bool untried;
	bool same_bytes;
	const char *refused;
	char why[256];
	long ms;
};

void summary_make(struct summary *out, const struct run *run);
void summary_free(struct summary *summary);

/* Whether no judgement before @judgement is of the same scenario, so that the scenario's kernel log is not printed yet */
bool summary_is_first(const struct summary *summary, const struct judgement *judgement);

const char *verdict_name(enum verdict verdict);

unsigned int summary_notes(const struct summary *summary);

/* Number of planned scenarios that did not run */
size_t summary_left(const struct summary *summary);

/* Text: why the run is incomplete; NULL if the run is complete */
const char *summary_stop(const struct summary *summary);

/* "clean", "violations", or "incomplete" (no violation was found, but some scenario was not run or not fully seen) */
const char *summary_outcome(const struct summary *summary);

/* Exit status: EXIT_OK clean, EXIT_FAILED violations, EXIT_USAGE incomplete */
int summary_status(const struct summary *summary);

#endif

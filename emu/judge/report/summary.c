// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tool/util/grow.h"
#include "tool/tool.h"
#include "summary.h"

static bool has_event(const struct recording *recording, enum event_side side, const char *part)
{
	size_t i;

	for (i = 0; i < recording->count; i++)
		if (recording->events[i].side == side && strstr(recording->events[i].text, part))
			return true;
	return false;
}

/* Bits of enum tries that show in the recording: without them, the driver could not break some rules. */
static unsigned int recorded(const struct recording *recording)
{
	return (has_event(recording, EVENT_KERNEL, "get_pages") ? TRIES_PIN : 0) |
	       (has_event(recording, EVENT_KERNEL, "dma_buf_attach ") ? TRIES_IMPORT : 0) |
	       (has_event(recording, EVENT_KERNEL, "dma_map_pages ") ? TRIES_MAP : 0) |
	       (has_event(recording, EVENT_KERNEL, "get_pages_persistent ") ? TRIES_PERSISTENT : 0) |
	       (has_event(recording, EVENT_KERNEL, " by peerpin") ? TRIES_PEERPIN : 0);
}

/*
 * Bits of enum tries that the scenario tested. A revocation counts only if it reached memory that the driver holds. It
 * ends no persistent pin.
 */
static unsigned int tested(const struct result *result)
{
	const struct revoked *revoked = &result->revoked;
	unsigned int bits = result->scenario.tries | TRIES_ANYTHING;

	if (!(bits & TRIES_REVOKE))
		return bits;
	if (!revoked->callbacks && !revoked->notified)
		return bits & ~TRIES_REVOKE;
	return bits | (revoked->callbacks ? TRIES_CALLBACK : 0) | (revoked->mapped ? TRIES_CPU_MAP : 0);
}

/* Whether the scenario tested the driver: it ended, its fault was injected and @untold is empty. */
static bool counts(const struct result *result)
{
	return result->ended && !*result->untold && !run_stop_of(result);
}

static void count_results(struct summary *s)
{
	const struct result *result = s->run->results.at;
	size_t i;

	for (i = 0; i < s->run->results.count; i++, result++) {
		s->ran += result->ended;
		s->untold += result->ended && *result->untold;
	}
}

static const char *first_untold(const struct run *run)
{
	const struct result *result = run->results.at;

	while (!result->ended || !*result->untold)
		result++;
	return result->untold;
}

static void say_untold(struct summary *s)
{
	if (s->untold)
		snprintf(s->why, sizeof(s->why), "%zu scenario%s may have missed a violation: %s", s->untold,
			 s->untold == 1 ? "" : "s", first_untold(s->run));
}

/* Whether some scenario could show a violation: it tested all needs of the rule that the recording does not show. */
static bool is_tried(const struct run *run, const struct rule *rule, unsigned int recorded)
{
	const struct result *result = run->results.at, *end = result + run->results.count;
	unsigned int needs = (rule->needs | TRIES_ANYTHING) & ~recorded;

	if (run->stop == STOP_NOTHING || run->stop == STOP_UNCALLED)
		return false;
	for (; result < end; result++)
		if (counts(result) && (needs & tested(result)) == needs)
			return true;
	return false;
}

static void add_rules(struct summary *s)
{
	unsigned int bits = recorded(&s->run->recording);
	const struct rule *rule;

	while ((rule = rule_at(s->count))) {
		s->judgements = grow(s->judgements, s->count, sizeof(*s->judgements));
		s->judgements[s->count++] = (struct judgement) {
			.rule = rule,
			.verdict = is_tried(s->run, rule, bits) ? VERDICT_OK : VERDICT_NOT_TRIED,
		};
	}
}

/* Whether the test cannot tell its data from those of another process */
static bool has_same_bytes(const struct results *results)
{
	const struct result *a, *b, *end = results->at + results->count;

	for (a = results->at; a < end; a++)
		for (b = results->at; b < a; b++)
			if (a->trial.bytes && a->trial.bytes == b->trial.bytes)
				return true;
	return false;
}

static const char *find_refusal(const struct results *results)
{
	size_t i;

	for (i = 0; i < results->count; i++)
		if (*results->at[i].refused)
			return results->at[i].refused;
	return NULL;
}

unsigned int summary_notes(const struct summary *summary)
{
	return summary->same_bytes + !!summary->refused;
}

static bool has_run(const struct run *run, const struct row *row)
{
	size_t i;

	for (i = 0; i < run->results.count; i++)
		if (run->results.at[i].scenario.row == row && run->results.at[i].ended)
			return true;
	return false;
}

static void add_left(struct summary *s, const struct row *row)
{
	size_t i = 0;

	while (i < s->nr_left && s->left[i].row != row)
		i++;
	if (i == s->nr_left) {
		s->left = grow(s->left, s->nr_left, sizeof(*s->left));
		s->left[s->nr_left++] = (struct left) { .row = row, .never = !has_run(s->run, row) };
	}
	s->left[i].left++;
}

static void count_left(struct summary *s)
{
	const struct scenarios *plan = &s->run->plan;
	size_t i;

	s->untried = !s->run->planned;
	for (i = 0; i < plan->count; i++) {
		if (!run_left(s->run, &plan->at[i]))
			continue;
		add_left(s, plan->at[i].row);
		s->untried |= plan->at[i].first;
	}
}

size_t summary_left(const struct summary *summary)
{
	size_t i, left = 0;

	for (i = 0; i < summary->nr_left; i++)
		left += summary->left[i].left;
	return left;
}

static void add_finding(struct summary *s, const struct result *result, const struct finding *finding)
{
	struct judgement *judgement = &s->judgements[rule_index(finding->rule)];

	judgement->verdict = VERDICT_BROKEN;
	if (judgement->times++)
		return;
	judgement->result = result;
	judgement->finding = finding;
	s->broken++;
}

static void add_findings(struct summary *s, const struct results *results)
{
	size_t i, k;

	for (i = 0; i < results->count; i++)
		for (k = 0; k < results->at[i].nr_findings; k++)
			add_finding(s, &results->at[i], &results->at[i].findings[k]);
}

static bool has_finding(const struct result *result, const char *rule)
{
	size_t i;

	for (i = 0; i < result->nr_findings; i++)
		if (!strcmp(result->findings[i].rule, rule))
			return true;
	return false;
}

/* Whether each scenario that broke @symptom also broke @cause */
static bool explains(const struct results *results, const char *cause, const char *symptom)
{
	size_t i;

	for (i = 0; i < results->count; i++)
		if (has_finding(&results->at[i], symptom) && !has_finding(&results->at[i], cause))
			return false;
	return true;
}

/*
 * A late transfer makes data wrong: a test reads what was in the memory before. If each scenario with wrong data also has
 * the late transfer, the rule of the transfer comes before data-wrong.
 */
static void put_cause_first(struct summary *s)
{
	static const char *const causes[] = {
		"dma-after-callback", "mapped-after-callback", "dma-mapped-after-callback",
	};
	struct judgement *symptom = &s->judgements[rule_index("data-wrong")], *cause, found;
	size_t i;

	for (i = 0; i < sizeof(causes) / sizeof(causes[0]) && symptom->verdict == VERDICT_BROKEN; i++) {
		cause = &s->judgements[rule_index(causes[i])];
		if (cause->verdict != VERDICT_BROKEN || !explains(&s->run->results, causes[i], "data-wrong"))
			continue;
		found = *cause;
		memmove(symptom + 1, symptom, (size_t)(cause - symptom) * sizeof(*symptom));
		*symptom = found;
		return;
	}
}

void summary_make(struct summary *out, const struct run *run)
{
	size_t i;

	*out = (struct summary) { .run = run, .ms = progress_ms(&run->progress) };
	count_results(out);
	say_untold(out);
	add_rules(out);
	count_left(out);
	out->same_bytes = has_same_bytes(&run->results);
	out->refused = find_refusal(&run->results);
	add_findings(out, &run->results);
	put_cause_first(out);
	for (i = 0; i < out->count && !out->headline; i++)
		if (out->judgements[i].verdict == VERDICT_BROKEN)
			out->headline = &out->judgements[i];
}

void summary_free(struct summary *summary)
{
	free(summary->left);
	free(summary->judgements);
}

bool summary_is_first(const struct summary *summary, const struct judgement *judgement)
{
	const struct judgement *j;

	for (j = summary->judgements; j < judgement; j++)
		if (j->result == judgement->result)
			return false;
	return true;
}

const char *verdict_name(enum verdict verdict)
{
	static const char *const names[] = {
		[VERDICT_OK] = "ok",
		[VERDICT_BROKEN] = "BROKEN",
		[VERDICT_NOT_TRIED] = "not tried",
	};

	return names[verdict];
}

/* Whether the driver has devices, but no call of the test on these devices was seen */
static bool is_unseen(const struct run *run)
{
	const struct result *first = run->results.at;

	return run->results.count && first->trial.devices && !first->trial.calls;
}

const char *summary_stop(const struct summary *summary)
{
	static const char *const reasons[] = {
		[STOP_NONE] = NULL,
		[STOP_FIRST] = "stopped at the first violation (--first)",
		[STOP_SIGNAL] = "stopped by a signal",
		[STOP_TIME] = "two minutes were over; --full has no time limit",
		[STOP_NOTHING] = "the test program has pinned no GPU memory, so the driver was not tested",
		[STOP_UNCALLED] = "no call of the test program on a device of the driver was seen, so the driver was "
				  "not tested; open its device, and link the test dynamically with the C library",
		[STOP_NOT_FIRED] = "the fault of the scenario could not be injected: the test does not come so far, there "
				   "is no memory to revoke, or no device is bound to the driver",
		[STOP_FAILED] = "the virtual machine could not run the scenarios",
	};

	enum stop stop = summary->run->stop;

	if ((stop == STOP_NONE || stop == STOP_TIME) && *summary->why)
		return summary->why;
	if (stop == STOP_TIME && summary->untried)
		return "four minutes were over before each kind of scenario was tried; --full has no time limit";
	if (stop == STOP_NONE && is_unseen(summary->run))
		return "no call of the test program on a device of the driver was seen, so no fault was injected at a "
		       "call; calls of statically linked programs cannot be seen";
	return reasons[stop];
}

/* A quick run that ran out of time is still complete if each kind of scenario was tried. */
int summary_status(const struct summary *summary)
{
	enum stop stop = summary->run->stop;

	if (summary->broken)
		return EXIT_FAILED;
	if (summary->untold)
		return EXIT_USAGE;
	return stop == STOP_NONE || (stop == STOP_TIME && !summary->untried) ? EXIT_OK : EXIT_USAGE;
}

const char *summary_outcome(const struct summary *summary)
{
	static const char *const outcomes[] = {
		[EXIT_OK] = "clean",
		[EXIT_FAILED] = "violations",
		[EXIT_USAGE] = "incomplete",
	};

	return outcomes[summary_status(summary)];
}

// SPDX-License-Identifier: MIT
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "tool/util/ending.h"
#include "tool/tool.h"
#include "death.h"
#include "run.h"
#include "stream.h"
#include "vm.h"

enum {
	QUICK_MS = 115 * 1000,
	STATUS_CANNOT = 2,	/* of the guest, or of emu/vm/run's own: it is their trouble, not the driver's */
	SILENT_MS = 90 * 1000,	/* the guest gives a test 20 s, and says something of each */
	HUNG_MAX = 2,
	LOOK_MS = 500,		/* so often the clock and signals are looked at */
};

/**
 * struct session - one machine
 * @record: the first scenario
 * @quiet_ms: since when nothing came
 * @seen: results that have been looked at
 * @dirty: a scenario left it so that no other may run there
 */
struct session {
	struct run *run;
	struct vm vm;
	struct stream stream;
	long quiet_ms;
	size_t seen;
	bool dirty;
};

static volatile sig_atomic_t interrupted;

static void note_signal(int signo)
{
	(void)signo;
	interrupted = 1;
}

/* Not restarted: a wait for the machine ends at once. */
static void catch_signals(void)
{
	const struct sigaction action = { .sa_handler = note_signal };
	const sigset_t ending = ending_signals();
	int signo;

	for (signo = 1; signo < NSIG; signo++)
		if (sigismember(&ending, signo))
			sigaction(signo, &action, NULL);
}

/* ---- what was found -------------------------------------------------------------- */

static void name_fault(struct run *run, struct result *result, struct finding *finding)
{
	unsigned int boot = 1u << result->scenario.boot;
	bool revoked = result_revoked(result) && !(run->faulted & boot);

	if (strcmp(finding->rule, "iommu-fault"))
		return;
	if (!revoked)
		run->faulted |= boot;
	snprintf(finding->rule, sizeof(finding->rule), "%s", revoked ? "dma-after-callback" : "bus-addresses");
}

/*
 * The IOMMU stops a device for one of two reasons: the address was never good,
 * or it was until the memory was taken away. If it happens where nothing is,
 * it is the first everywhere.
 */
static void finish_result(struct run *run, struct result *result)
{
	size_t i;

	for (i = 0; i < result->nr_findings; i++)
		name_fault(run, result, &result->findings[i]);
	if (run->args->first && result->nr_findings && !run->stop)
		run->stop = STOP_FIRST;
}

static size_t count_broken(const struct results *results)
{
	size_t i, count = 0;

	for (i = 0; i < results->count; i++)
		count += results->at[i].nr_findings > 0;
	return count;
}

/* ---- one machine ----------------------------------------------------------------- */

static void show(const struct session *s)
{
	const struct run *run = s->run;
	const struct result *current = stream_current(&s->stream);

	progress_show(&run->progress, current ? current->scenario.id : "", run->results.count - !!current,
		      run->planned, count_broken(&run->results));
}

/* The results that have ended since, in order; all before the current one have. */
static void take_ended(struct session *s)
{
	struct results *results = &s->run->results;

	for (; s->seen < results->count && results->at[s->seen].ended; s->seen++) {
		finish_result(s->run, &results->at[s->seen]);
		s->dirty = !results->at[s->seen].clean;
	}
}

static void take_output(struct session *s, const char *data, size_t length)
{
	stream_feed(&s->stream, data, length);
	s->quiet_ms = progress_ms(&s->run->progress);
	take_ended(s);
	show(s);
}

static void look_around(struct session *s)
{
	struct run *run = s->run;

	if (interrupted)
		run->stop = STOP_SIGNAL;
	else if (!run->stop && run->args->level == LEVEL_QUICK && !run->args->only &&
		 progress_ms(&run->progress) > QUICK_MS)
		run->stop = STOP_TIME;
}

static bool is_silent(const struct session *s)
{
	return progress_ms(&s->run->progress) - s->quiet_ms > SILENT_MS;
}

/* Until it ends, or shall: one with a process that cannot be killed would go on for long. */
static void listen(struct session *s)
{
	char data[4096];
	ssize_t got;

	while (!s->run->stop && !s->dirty && !is_silent(s)) {
		got = vm_read(&s->vm, data, sizeof(data), LOOK_MS);
		if (got > 0)
			take_output(s, data, (size_t)got);
		else if (got != -EAGAIN && got != -EINTR)
			break;
		look_around(s);
	}
	/* what it has said before the signal counts */
	while (s->run->stop == STOP_SIGNAL && (got = vm_read(&s->vm, data, sizeof(data), 0)) > 0)
		take_output(s, data, (size_t)got);
}

/* It was on a scenario when it ended: that is the scenario's result. */
static void judge_death(struct session *s, struct result *result)
{
	result->fired = true;
	result->ended = true;
	death_judge(result, s->run->place->log);
	finish_result(s->run, result);
}

static void show_complaints(const struct place *place)
{
	FILE *file = fopen(place->complaints, "re");
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		fprintf(stderr, "    %s", line);
	if (file)
		fclose(file);
}

/* Whether a line begins so */
static bool has_complaint(const struct place *place, const char *words)
{
	FILE *file = fopen(place->complaints, "re");
	bool has = false;
	char line[512];

	while (file && !has && fgets(line, sizeof(line), file))
		has = !strncmp(line, words, strlen(words));
	if (file)
		fclose(file);
	return has;
}

/* The status does not say so where the kernel has said anything like a complaint. */
static bool guest_gave_up(const struct place *place)
{
	return has_complaint(place, "judge: ");
}

/* Whether the kernel has complained of what the guest has not seen, since the last one began. */
static bool judge_late(struct session *s)
{
	struct result *last = &s->run->results.at[s->run->results.count - 1];
	size_t before = last->nr_findings;

	death_judge_late(last, s->run->place->log);
	if (last->nr_findings == before)
		return false;
	last->ended = true;
	finish_result(s->run, last);
	return true;
}

/* That may be QEMU's own fault, or its host's: a scenario in which it happens again is to blame. */
static bool is_crash_of_qemu(const struct session *s)
{
	return s->run->crashed != s->run->results.count &&
	       has_complaint(s->run->place, "watch: QEMU was ended by signal ");
}

static void begin_again(struct session *s)
{
	s->run->crashed = s->run->results.count;
	stream_take_back(&s->stream);
}

/* Another one would not do better. */
static void give_up(struct run *run)
{
	progress_clear(&run->progress);
	fail("the virtual machine did not run the scenarios; what it said:");
	show_complaints(run->place);
	run->stop = STOP_FAILED;
}

/* What a splat kept it from is the driver's doing. */
static bool has_given_up(struct session *s, int status)
{
	return (status == STATUS_CANNOT || guest_gave_up(s->run->place)) && !judge_late(s);
}

static void judge_end(struct session *s, int status)
{
	struct result *result = stream_current(&s->stream);

	if (s->stream.next)
		s->run->hung = 0;
	if (s->run->stop && result)
		finish_result(s->run, result);
	if (s->stream.next && !result && !s->dirty)
		judge_late(s);
	if (s->run->stop)
		return;
	if (!s->stream.next && is_silent(s) && s->run->hung++ < HUNG_MAX)
		return;
	if (!s->stream.next || (result && has_given_up(s, status)))
		give_up(s->run);
	else if (result && is_crash_of_qemu(s))
		begin_again(s);
	else if (result)
		judge_death(s, result);
}

/* Runs the first scenarios of @plan; how many: none if the machine hung before them. */
static size_t run_machine(struct run *run, const struct scenarios *plan)
{
	struct session s = { .run = run, .seen = run->results.count };
	bool record = !run->results.count && !run->args->only;

	s.stream = (struct stream) {
		.plan = plan, .results = &run->results, .recording = &run->recording, .current = -1,
	};
	if (vm_start(&s.vm, run->args, run->place, plan, record)) {
		run->stop = STOP_FAILED;
		return 0;
	}
	s.quiet_ms = progress_ms(&run->progress);
	show(&s);
	listen(&s);
	judge_end(&s, vm_stop(&s.vm));
	return s.stream.next;
}

/* ---- all of them ----------------------------------------------------------------- */

/* As many of @all from @from on as are of one boot. */
static struct scenarios same_boot(const struct scenarios *all, size_t from)
{
	struct scenarios part = { .at = all->at + from };

	while (from + part.count < all->count && part.at[part.count].boot == part.at[0].boot)
		part.count++;
	return part;
}

static void run_plan(struct run *run, const struct scenarios *plan)
{
	struct scenarios part;
	size_t done = 0;

	while (done < plan->count && !run->stop) {
		part = same_boot(plan, done);
		done += run_machine(run, &part);
	}
}

/* Of a driver whose devices nobody has called, what peerpin has pinned says nothing. */
static enum stop stop_of_trial(const struct result *result)
{
	const struct trial *trial = &result->trial;

	if (!trial->told && result->nr_findings)
		return STOP_NONE;	/* that was the end of it */
	if (!trial->pins)
		return STOP_NOTHING;
	return trial->own || trial->calls || !trial->devices ? STOP_NONE : STOP_UNCALLED;
}

enum stop run_stop_of(const struct result *result)
{
	if (result->fired)
		return STOP_NONE;
	return result->armed ? STOP_NOT_FIRED : stop_of_trial(result);
}

static void run_only(struct run *run)
{
	struct scenarios plan = { 0 };
	struct scenario scenario;

	if (scenario_parse(run->args->only, &scenario)) {
		usage_error("there is no scenario %s: --only takes what a report says", run->args->only);
		run->stop = STOP_FAILED;
		return;
	}
	plan = (struct scenarios) { &scenario, 1 };
	run->planned = 1;
	run_plan(run, &plan);
	if (!run->stop)
		run->stop = run->results.count ? run_stop_of(run->results.at) : STOP_NOT_FIRED;
}

/* 0: one was to fail and there was none, so there are no more. */
static unsigned int allocs_failed(const struct run *run)
{
	unsigned int count = 0;
	size_t i;

	for (i = 0; i < run->results.count; i++) {
		if (strncmp(run->results.at[i].scenario.keys, "alloc=", 6))
			continue;
		if (!run->results.at[i].fired)
			return 0;
		count++;
	}
	return count;
}

static bool has_ended(const struct results *results, const char *id)
{
	size_t i;

	for (i = 0; i < results->count; i++)
		if (!strcmp(results->at[i].scenario.id, id))
			return results->at[i].ended;
	return false;
}

static unsigned int tries_left(const struct run *run, const struct scenarios *plan)
{
	unsigned int bits = 0;
	size_t i;

	for (i = 0; i < plan->count; i++)
		if (!has_ended(&run->results, plan->at[i].id))
			bits |= plan->at[i].tries;
	return bits;
}

static void plan_rest(struct run *run, struct scenarios *plan)
{
	unsigned int allocs = allocs_failed(run);

	scenarios_after(plan, run->args->level, &run->recording);
	if (allocs)
		scenarios_alloc(plan, run->args->level, allocs);
	run->planned += plan->count;
	run_plan(run, plan);
	run->left = tries_left(run, plan);
}

static void plan_allocs(struct run *run)
{
	struct scenarios plan = { 0 };
	unsigned int allocs = allocs_failed(run);

	if (allocs)
		scenarios_alloc(&plan, run->args->level, allocs);
	run->planned += plan.count;
	run_plan(run, &plan);
	scenarios_free(&plan);
}

/* The first scenario, in which nothing is done to the driver, says whether the others would. */
static void look_at_trial(struct run *run)
{
	enum stop stop = STOP_NONE;

	if (run->results.count && run->results.at[0].ended)
		stop = run_stop_of(&run->results.at[0]);
	if (stop && (!run->stop || run->stop == STOP_TIME))
		run->stop = stop;
}

static void run_planned(struct run *run)
{
	struct scenarios before = { 0 }, rest = { 0 };

	scenarios_before(&before, run->args->level);
	run_plan(run, &before);
	run->planned = before.count;
	look_at_trial(run);
	if (!run->stop)
		plan_rest(run, &rest);
	if (!run->stop)
		plan_allocs(run);
	scenarios_free(&before);
	scenarios_free(&rest);
}

void run_all(struct run *run, const struct verify_args *args, struct place *place)
{
	*run = (struct run) { .args = args, .place = place, .left = ~0u };
	catch_signals();
	progress_start(&run->progress);
	if (args->only)
		run_only(run);
	else
		run_planned(run);
	progress_clear(&run->progress);
}

void run_free(struct run *run)
{
	results_free(&run->results);
	recording_free(&run->recording);
}

// SPDX-License-Identifier: MIT
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "tool/util/ending.h"
#include "tool/tool.h"
#include "emu/judge/log/splat.h"
#include "death.h"
#include "run.h"
#include "stream.h"
#include "vm.h"

enum {
	QUICK_MS = 115 * 1000,
	FIRST_MS = 235 * 1000,	/* for the scenarios with @first */
	STATUS_CANNOT = 2,	/* exit status if the guest or emu/vm/run failed, not the driver */
	SILENT_MS = 90 * 1000,	/* longer silence is a hang: the guest ends each test after 20 s and reports it */
	HUNG_MAX = 2,
	LOOK_MS = 500,		/* interval of checks of clock and signals */
};

/**
 * struct session - one VM
 * @quiet_ms: time of the last output
 * @seen: number of results handled
 * @dirty: a scenario left the VM in a bad state, so no other scenario may run in the VM
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

/* Without SA_RESTART, a signal ends the wait for the VM's output at once. */
static void catch_signals(void)
{
	const struct sigaction action = { .sa_handler = note_signal };
	const sigset_t ending = ending_signals();
	int signo;

	for (signo = 1; signo < NSIG; signo++)
		if (sigismember(&ending, signo))
			sigaction(signo, &action, NULL);
}

/* ---- findings -------------------------------------------------------------------- */

static void name_fault(struct run *run, const struct result *result, struct finding *finding)
{
	unsigned int boot = 1u << result->scenario.boot;
	bool late = !strcmp(finding->rule, SPLAT_IOMMU_LATE);

	if (!late && strcmp(finding->rule, SPLAT_IOMMU))
		return;
	if (!late)
		run->faulted |= boot;
	snprintf(finding->rule, sizeof(finding->rule), "%s", run->faulted & boot ? "bus-addresses" : "dma-after-callback");
}

/*
 * An IOMMU fault breaks one of two rules. bus-addresses: the address was never valid. dma-after-callback: the address
 * was valid until the memory was revoked. If any scenario of this kind of boot, up to this one, had a fault before its
 * first revocation, the rule is bus-addresses.
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

/* ---- one VM ---------------------------------------------------------------------- */

static void show(const struct session *s)
{
	const struct run *run = s->run;
	const struct result *current = stream_current(&s->stream);

	progress_show(&run->progress, current ? current->scenario.id : "", run->results.count - !!current,
		      run->planned, count_broken(&run->results));
}

/* Handles the results that have ended since the last call, in order. */
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

/* The scenario that runs now, or runs next */
static const struct scenario *scenario_now(const struct session *s)
{
	const struct result *current = stream_current(&s->stream);
	const struct scenarios *plan = s->stream.plan;

	if (current)
		return &current->scenario;
	return &plan->at[s->stream.next < plan->count ? s->stream.next : plan->count - 1];
}

static bool is_time_over(const struct session *s)
{
	return progress_ms(&s->run->progress) > (scenario_now(s)->first ? FIRST_MS : QUICK_MS);
}

static void look_around(struct session *s)
{
	struct run *run = s->run;

	if (interrupted)
		run->stop = STOP_SIGNAL;
	else if (!run->stop && run->args->level == LEVEL_QUICK && !run->args->only && is_time_over(s))
		run->stop = STOP_TIME;
}

static bool is_silent(const struct session *s)
{
	return progress_ms(&s->run->progress) - s->quiet_ms > SILENT_MS;
}

/* Reads output until the VM ends, is dirty or must be stopped. An unkillable process may keep a dirty VM running. */
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
	/* also read the output that came before the signal */
	while (s->run->stop == STOP_SIGNAL && (got = vm_read(&s->vm, data, sizeof(data), 0)) > 0)
		take_output(s, data, (size_t)got);
}

/* The VM died during the scenario of @result: records the death as the scenario's result. */
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

/* Whether a line of emu/vm/run's stderr begins with @words */
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

/* Looks for the guest's error message, because a splat in the kernel log changes the exit status. */
static bool guest_gave_up(const struct place *place)
{
	return has_complaint(place, "judge: ");
}

/* Whether the kernel logged a splat, which the guest did not see, since the last scenario began */
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

/* Whether QEMU crashed for the first time in this scenario. Only a second crash counts as a finding. */
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

/* Stops the run, because another VM would fail, too. */
static void give_up(struct run *run)
{
	progress_clear(&run->progress);
	fail("the virtual machine did not run the scenarios; its output:");
	show_complaints(run->place);
	run->stop = STOP_FAILED;
}

/* Whether the guest or emu/vm/run failed. Returns false after a splat: then the driver is the cause. */
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

/* Runs the first scenarios of @plan in a new VM. Returns how many began; 0: the VM hung before the first scenario. */
static size_t run_machine(struct run *run, const struct scenarios *plan)
{
	struct session s = { .run = run, .seen = run->results.count };
	bool record = !run->results.count;

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

/* ---- all VMs --------------------------------------------------------------------- */

/* The scenarios from index @from on, up to the next scenario with another boot */
static struct scenarios same_boot(const struct scenarios *all, size_t from)
{
	struct scenarios part = { .at = all->at + from };

	while (from + part.count < all->count && part.at[part.count].boot == part.at[0].boot)
		part.count++;
	return part;
}

/* Runs the scenarios of @plan from index @done on. */
static void run_plan(struct run *run, const struct scenarios *plan, size_t done)
{
	struct scenarios part;

	while (done < plan->count && !run->stop) {
		part = same_boot(plan, done);
		done += run_machine(run, &part);
	}
}

/* If the test never called the driver's devices, pins through peerpin do not show that the driver was used. */
static enum stop stop_of_trial(const struct result *result)
{
	const struct trial *trial = &result->trial;

	if (!trial->told && result->nr_findings)
		return STOP_NONE;	/* the VM died, which is a finding */
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
		usage_error("there is no scenario %s: --only takes an id from a report", run->args->only);
		run->stop = STOP_FAILED;
		return;
	}
	plan = (struct scenarios) { &scenario, 1 };
	run->planned = 1;
	run_plan(run, &plan, 0);
	if (!run->stop)
		run->stop = run->results.count ? run_stop_of(run->results.at) : STOP_NOT_FIRED;
}

static bool fails_allocation(const struct scenario *scenario)
{
	return scenario->row->series == SERIES_ALLOC;
}

/* Whether a scenario found no allocation to fail: then the driver makes fewer allocations. */
static bool allocs_are_over(const struct run *run)
{
	size_t i;

	for (i = 0; i < run->results.count; i++)
		if (fails_allocation(&run->results.at[i].scenario) && run->results.at[i].ended &&
		    !run->results.at[i].fired)
			return true;
	return false;
}

static unsigned int allocs_tried(const struct run *run)
{
	unsigned int count = 0;
	size_t i;

	for (i = 0; i < run->results.count; i++)
		count += fails_allocation(&run->results.at[i].scenario);
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

bool run_left(const struct run *run, const struct scenario *scenario)
{
	if (fails_allocation(scenario) && allocs_are_over(run))
		return false;
	return !has_ended(&run->results, scenario->id);
}

/* Runs the scenarios that were added to the plan at and after index @from. */
static void run_added(struct run *run, size_t from)
{
	run->planned = run->plan.count;
	run_plan(run, &run->plan, from);
}

static void run_allocs(struct run *run)
{
	size_t from = run->plan.count;

	while (!run->stop && !allocs_are_over(run)) {
		scenarios_alloc(&run->plan, run->args->level, allocs_tried(run));
		if (run->plan.count == from)
			break;
		run_added(run, from);
		from = run->plan.count;
	}
}

/* The first scenario has no fault. Its result shows whether the other scenarios can test the driver. */
static void look_at_trial(struct run *run)
{
	enum stop stop = STOP_NONE;

	if (run->results.count && run->results.at[0].ended)
		stop = run_stop_of(&run->results.at[0]);
	if (stop && (!run->stop || run->stop == STOP_TIME))
		run->stop = stop;
}

/*
 * Runs the first scenario and, if the VM stays clean, the other scenarios without a fault. Returns how many were run. If the
 * first scenario damages the VM, so does each of the others, and each needs a VM of its own.
 */
static size_t run_before(struct run *run)
{
	size_t done = 0;

	scenarios_before(&run->plan);
	while (!done && !run->stop)
		done = run_machine(run, &run->plan);
	if (run->stop || !run->results.at[0].clean)
		return done;
	run_plan(run, &run->plan, done);
	return run->plan.count;
}

/* Moves the scenarios at indexes @from to @to - 1 behind all others of the first pass. */
static void put_off(struct scenarios *plan, size_t from, size_t to)
{
	struct scenario moved;
	size_t last = plan->count;

	while (!plan->at[last - 1].first)
		last--;
	for (; from < to; to--) {
		moved = plan->at[from];
		memmove(&plan->at[from], &plan->at[from + 1], (last - 1 - from) * sizeof(moved));
		plan->at[last - 1] = moved;
	}
}

static void run_planned(struct run *run)
{
	size_t done = run_before(run), before = run->plan.count;

	look_at_trial(run);
	if (run->stop)
		return;
	scenarios_after(&run->plan, run->args->level, &run->recording);
	put_off(&run->plan, done, before);
	run_added(run, done);
	run_allocs(run);
}

void run_all(struct run *run, const struct verify_args *args, struct place *place)
{
	*run = (struct run) { .args = args, .place = place };
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
	scenarios_free(&run->plan);
	results_free(&run->results);
	recording_free(&run->recording);
}

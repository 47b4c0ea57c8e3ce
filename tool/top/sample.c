// SPDX-License-Identifier: MIT
/*
 * Takes samples. The core's debugfs file has one line for each process, so it is cheap to
 * read. Searching /proc and reading fdinfo (one line for each region) may take long. After
 * a long search or read the next one comes later, so that top uses a bounded share of a CPU.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "tool/owners/accounts.h"
#include "tool/machine/bar1.h"
#include "tool/owners/cache_counts.h"
#include "tool/util/explain.h"
#include "tool/util/grow.h"
#include "tool/owners/owners.h"
#include "top.h"

enum {
	SEARCH_SHARE = 200,	/* searching /proc takes at most 1/200 of a CPU */
	FDINFO_SHARE = 100,	/* reading fdinfo takes at most 1/100 of a CPU */
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void note(struct top_sample *s, const char *text)
{
	if (s->nr_notes < TOP_NOTES)
		s->notes[s->nr_notes++] = text;
}

/* ---- GPUs -------------------------------------------------------------------- */

static void sample_gpus(struct top_sample *s)
{
	int error;

	s->reserve = pp_bar1_reserve();
	s->nr_gpus = bar1_find(s->gpus, s->gpu_index, TOP_GPUS, &error);
	if (error)
		note(s, why_no_bar1(s->nr_gpus, error));
}

/* ---- processes ---------------------------------------------------------------- */

static void search_again(struct top_search *search, uint64_t now)
{
	uint64_t start = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	if (now < search->next_ns)
		return;
	fds_free(&search->fds);
	fds_find(&search->fds);
	search->next_ns = now + (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start) * SEARCH_SHARE;
}

static struct top_process *new_process(struct top_sample *s, pid_t pid)
{
	struct top_process *p;
	int i;

	s->processes = grow(s->processes, s->nr_processes, sizeof(*p));
	p = &s->processes[s->nr_processes++];
	p->pid = pid;
	for (i = 0; i < TOP_COUNTS; i++)
		p->rate[i] = -1;
	return p;
}

/*
 * Adds the counts of one file to its owner; files come in order of the owner's pid. Bytes and regions are those of the
 * file, so sum them up. Pins and revocations are totals of the owner in each of its files, so do not sum them up.
 */
static void add_owner(struct top_sample *s, const struct owner *o)
{
	struct top_process *p = s->nr_processes ? &s->processes[s->nr_processes - 1] : NULL;

	if (!p || p->pid != o->owner) {
		p = new_process(s, o->owner);
		memcpy(p->command, o->command, sizeof(p->command));
	}
	p->bytes += o->bytes;
	p->regions += o->count;
	p->counted[TOP_PINS] = o->pins;
	p->counted[TOP_REVOKED] = o->revoked;
}

static void note_not_core(struct top_sample *s, int error)
{
	if (access("/sys/module/peerpin", F_OK))
		note(s, "the kernel module is not loaded, so no pins are seen; type: modprobe peerpin");
	else if (error == -EACCES)
		note(s, "only your own processes are seen, and no peers; type: sudo peerpin top");
	else
		note(s, "the core's counters cannot be found; type: mount -t debugfs none /sys/kernel/debug");
}

static void read_fdinfo(struct top_search *search, struct owners *out)
{
	uint64_t start = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

	owners_by_fds(&search->fds, OWNERS_SUMS, out);
	search->pause_ns = (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start) * FDINFO_SHARE;
}

static void sample_owners(struct top_search *search, struct top_sample *s)
{
	struct owners owners;
	int ret = owners_by_core(OWNERS_SUMS, &owners);
	size_t i;

	if (ret) {
		note_not_core(s, ret);
		read_fdinfo(search, &owners);
	}
	for (i = 0; i < owners.count; i++)
		add_owner(s, &owners.at[i]);
	owners_free(&owners);
}

static int by_pid(const void *a, const void *b)
{
	const struct top_process *x = a, *y = b;

	return (x->pid > y->pid) - (x->pid < y->pid);
}

static struct top_process *find_process(struct top_sample *s, size_t among, pid_t pid)
{
	struct top_process key = { .pid = pid };

	return among ? bsearch(&key, s->processes, among, sizeof(key), by_pid) : NULL;
}

/* @among: number of processes that sample_owners() found, sorted by pid */
static void add_published(struct top_sample *s, size_t among, pid_t pid, const struct cache_counts *c)
{
	struct top_process *p = find_process(s, among, pid);

	if (!p) {
		p = new_process(s, pid);
		owner_command(pid, p->command, sizeof(p->command));
	}
	p->publishes = true;
	p->counted[TOP_HITS] = c->hits;
	p->counted[TOP_MISSES] = c->misses;
}

/* Reads one file of each process; its other files are duplicates, or files of its parent. @fds has them in sequence. */
static void sample_published(const struct fds *fds, struct top_sample *s)
{
	size_t among = s->nr_processes, i;
	struct cache_counts c;
	pid_t read = 0;

	for (i = 0; i < fds->count; i++) {
		const struct fd_at *at = &fds->at[i];

		if (at->kind != FD_CACHE || at->pid == read || !cache_counts_read(at, &c))
			continue;
		add_published(s, among, at->pid, &c);
		read = at->pid;
	}
	if (s->nr_processes)
		qsort(s->processes, s->nr_processes, sizeof(*s->processes), by_pid);
}

/* ---- peers --------------------------------------------------------------------- */

static void add_peer(struct top_sample *s, const struct peer_counts *c)
{
	struct top_peer *p;

	s->peers = grow(s->peers, s->nr_peers, sizeof(*p));
	p = &s->peers[s->nr_peers++];
	memcpy(p->name, c->name, sizeof(p->name));
	p->counted[TOP_TRANSFERS] = c->transfers;
	p->counted[TOP_BYTES] = c->bytes;
	p->rate[TOP_TRANSFERS] = -1;
	p->rate[TOP_BYTES] = -1;
}

static void sample_peers(struct top_sample *s)
{
	FILE *f = core_file("peers");
	struct peer_list peers;
	size_t i;

	if (!f)
		return;		/* sample_owners() has noted why */
	peers_parse(f, &peers);
	fclose(f);
	for (i = 0; i < peers.count; i++)
		add_peer(s, &peers.at[i]);
	peers_free(&peers);
}

/* ---- all ---------------------------------------------------------------------- */

uint64_t top_clock_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void sample(struct top_search *search, struct top_sample *out)
{
	*out = (struct top_sample){ .at_ns = top_clock_ns() };
	search_again(search, out->at_ns);
	sample_gpus(out);
	sample_owners(search, out);
	sample_published(&search->fds, out);
	sample_peers(out);
}

static void sample_free(struct top_sample *s)
{
	free(s->processes);
	free(s->peers);
	*s = (struct top_sample){ 0 };
}

void top_next(struct top *t)
{
	struct top_sample before = t->now;

	sample(&t->search, &t->now);
	if (before.at_ns)
		top_rates(&before, &t->now);
	sample_free(&before);
}

uint64_t top_due_ns(const struct top *t, uint64_t interval_ns)
{
	return t->now.at_ns + (t->search.pause_ns > interval_ns ? t->search.pause_ns : interval_ns);
}

void top_end(struct top *t)
{
	sample_free(&t->now);
	fds_free(&t->search.fds);
}

// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include "sample.h"
#include "tool/machine/bar1.h"
#include "tool/owners/cache_counts.h"
#include "tool/owners/owners.h"
#include "tool/util/grow.h"

static struct metrics_process *find(struct metrics_sample *s, pid_t pid)
{
	size_t i;

	for (i = 0; i < s->nr_processes; i++)
		if (s->processes[i].pid == pid)
			return &s->processes[i];
	return NULL;
}

static struct metrics_process *process_of(struct metrics_sample *s, pid_t pid)
{
	struct metrics_process *p = find(s, pid);

	if (p)
		return p;
	s->processes = grow(s->processes, s->nr_processes, sizeof(*p));
	p = &s->processes[s->nr_processes++];
	p->pid = pid;
	return p;
}

/* ---- pinned memory ------------------------------------------------------------- */

/* Beyond METRICS_PROVIDERS, which no kernel has, the last provider gets the rest. */
static void add_pinned(struct metrics_process *p, const char *provider, uint64_t bytes, uint64_t regions)
{
	size_t i = 0;

	while (i < p->nr_pinned && strcmp(p->pinned[i].provider, provider))
		i++;
	if (i == METRICS_PROVIDERS)
		i--;
	if (i == p->nr_pinned) {
		p->pinned[p->nr_pinned++] = (struct metrics_pinned){ 0 };
		snprintf(p->pinned[i].provider, sizeof(p->pinned[i].provider), "%s", provider);
	}
	p->pinned[i].bytes += bytes;
	p->pinned[i].regions += regions;
	p->bytes += bytes;
}

/* From fdinfo, an owner is one open file: pins and revocations are totals of the process, in each of its files. */
static void add_owner(struct metrics_sample *s, const struct owner *o)
{
	struct metrics_process *p = process_of(s, o->owner);
	size_t i;

	memcpy(p->command, o->command, sizeof(p->command));
	p->counted = true;
	p->pins = o->pins;
	p->revoked = o->revoked;
	for (i = 0; i < o->nr_regions; i++)
		if (!strcmp(o->regions[i].state, "live"))
			add_pinned(p, o->regions[i].provider, o->regions[i].length, 1);
}

static void take_owners(struct metrics_sample *s, const struct fds *fds)
{
	struct owners owners;
	size_t i;

	s->told_by_core = !owners_by_core(OWNERS_REGIONS, &owners);
	if (!s->told_by_core)
		owners_by_fds(fds, OWNERS_REGIONS, &owners);
	for (i = 0; i < owners.count; i++)
		add_owner(s, &owners.at[i]);
	owners_free(&owners);
}

/* ---- caches ---------------------------------------------------------------------- */

/* Other files of the same process are duplicates. @fds has the files of a process in sequence. */
static void take_caches(struct metrics_sample *s, const struct fds *fds)
{
	struct metrics_process *p;
	struct cache_counts c;
	pid_t read = 0;
	size_t i;

	for (i = 0; i < fds->count; i++) {
		const struct fd_at *at = &fds->at[i];

		if (at->kind != FD_CACHE || at->pid == read || !cache_counts_read(at, &c))
			continue;
		read = at->pid;
		p = process_of(s, at->pid);
		owner_command(at->pid, p->command, sizeof(p->command));
		p->publishes = true;
		p->hits = c.hits;
		p->misses = c.misses;
	}
}

/* ---- the limit --------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
	const struct metrics_process *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static void add_to(struct metrics_process *rest, const struct metrics_process *p)
{
	size_t i;

	for (i = 0; i < p->nr_pinned; i++)
		add_pinned(rest, p->pinned[i].provider, p->pinned[i].bytes, p->pinned[i].regions);
}

/* The rest has no totals: its processes change, so a total would not be monotone. */
void metrics_limit(struct metrics_sample *s, size_t room)
{
	struct metrics_process rest = { .command = "other" };
	size_t i;

	s->nr_all = s->nr_processes;
	if (s->nr_processes <= room)
		room = s->nr_processes;
	if (s->nr_processes)
		qsort(s->processes, s->nr_processes, sizeof(*s->processes), by_size);
	for (i = room; i < s->nr_all; i++)
		add_to(&rest, &s->processes[i]);
	s->nr_processes = room;
	if (rest.nr_pinned)
		s->processes[s->nr_processes++] = rest;
}

void metrics_take(struct metrics_sample *out, size_t room)
{
	struct fds fds;
	int error;

	*out = (struct metrics_sample){ 0 };
	out->loaded = !counters_read(&out->counters);
	out->reserve = pp_bar1_reserve();
	out->nr_gpus = bar1_find(out->gpus, out->gpu_index, METRICS_GPUS, &error);
	fds_find(&fds);
	take_owners(out, &fds);
	take_caches(out, &fds);
	fds_free(&fds);
	metrics_limit(out, room);
}

void metrics_free(struct metrics_sample *s)
{
	counters_free(&s->counters);
	free(s->processes);
	*s = (struct metrics_sample){ 0 };
}

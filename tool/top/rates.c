// SPDX-License-Identifier: MIT
/*
 * Rates from two samples. A process or peer that is only in the second sample has no rate,
 * because its totals may have begun before the first sample. An entry with decreased totals
 * has no rate either: it is a new process with the same pid, or a driver loaded again.
 */
#include <string.h>
#include "top.h"

static bool is_new(const uint64_t *before, const uint64_t *now, unsigned int n)
{
	while (n--)
		if (now[n] < before[n])
			return true;
	return false;
}

static void set_rates(const uint64_t *before, const uint64_t *now, double *rate, unsigned int n, uint64_t ns)
{
	if (!ns || is_new(before, now, n))
		return;
	while (n--)
		rate[n] = (double)(now[n] - before[n]) * 1e9 / (double)ns;
}

static void set_unknown(double *rate, unsigned int n)
{
	while (n--)
		rate[n] = -1;
}

/* Hits and misses have rates only if the process published in both samples. */
static void process_rates(const struct top_process *before, struct top_process *now, uint64_t ns)
{
	set_rates(before->counted, now->counted, now->rate, TOP_HITS, ns);
	if (before->publishes && now->publishes)
		set_rates(before->counted + TOP_HITS, now->counted + TOP_HITS, now->rate + TOP_HITS,
			  TOP_COUNTS - TOP_HITS, ns);
}

/* Both samples are sorted by pid. */
static void rates_of_processes(const struct top_sample *before, struct top_sample *now, uint64_t ns)
{
	size_t i, k = 0;

	for (i = 0; i < now->nr_processes; i++) {
		struct top_process *p = &now->processes[i];

		set_unknown(p->rate, TOP_COUNTS);
		while (k < before->nr_processes && before->processes[k].pid < p->pid)
			k++;
		if (k < before->nr_processes && before->processes[k].pid == p->pid &&
		    !strcmp(before->processes[k].command, p->command))
			process_rates(&before->processes[k], p, ns);
	}
}

static const struct top_peer *find_peer(const struct top_sample *s, const char *name)
{
	size_t i;

	for (i = 0; i < s->nr_peers; i++)
		if (!strcmp(s->peers[i].name, name))
			return &s->peers[i];
	return NULL;
}

static void rates_of_peers(const struct top_sample *before, struct top_sample *now, uint64_t ns)
{
	size_t i;

	for (i = 0; i < now->nr_peers; i++) {
		struct top_peer *p = &now->peers[i];
		const struct top_peer *was = find_peer(before, p->name);

		set_unknown(p->rate, TOP_TRAFFIC);
		if (was)
			set_rates(was->counted, p->counted, p->rate, TOP_TRAFFIC, ns);
	}
}

void top_rates(const struct top_sample *before, struct top_sample *now)
{
	uint64_t ns = now->at_ns - before->at_ns;

	rates_of_processes(before, now, ns);
	rates_of_peers(before, now, ns);
}

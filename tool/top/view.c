// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tool/machine/bar1.h"
#include "view.h"
#include "tool/util/units.h"

/* ---- order ---------------------------------------------------------------------- */

const char *top_sort_name(enum top_sort sort)
{
	static const char *const names[] = {
		[TOP_BY_BYTES] = "bytes",
		[TOP_BY_REGIONS] = "regions",
		[TOP_BY_PINS] = "pins/s",
		[TOP_BY_NAME] = "name",
	};

	return names[sort];
}

/* Orders processes that are otherwise equal by pid, so that rows do not jump. */
static int by_pid(const struct top_process *x, const struct top_process *y)
{
	return (x->pid > y->pid) - (x->pid < y->pid);
}

static int by_bytes(const void *a, const void *b)
{
	const struct top_process *x = *(const struct top_process *const *)a, *y = *(const struct top_process *const *)b;
	int order = (x->bytes < y->bytes) - (x->bytes > y->bytes);

	return order ? order : by_pid(x, y);
}

static int by_regions(const void *a, const void *b)
{
	const struct top_process *x = *(const struct top_process *const *)a, *y = *(const struct top_process *const *)b;
	int order = (x->regions < y->regions) - (x->regions > y->regions);

	return order ? order : by_pid(x, y);
}

static int by_pins(const void *a, const void *b)
{
	const struct top_process *x = *(const struct top_process *const *)a, *y = *(const struct top_process *const *)b;
	int order = (x->rate[TOP_PINS] < y->rate[TOP_PINS]) - (x->rate[TOP_PINS] > y->rate[TOP_PINS]);

	return order ? order : by_pid(x, y);
}

static int by_name(const void *a, const void *b)
{
	const struct top_process *x = *(const struct top_process *const *)a, *y = *(const struct top_process *const *)b;
	int order = strcmp(x->command, y->command);

	return order ? order : by_pid(x, y);
}

static bool passes(const struct top_process *p, const char *filter)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)p->pid);
	return strcasestr(p->command, filter) || !strncmp(pid, filter, strlen(filter));
}

const struct top_process **top_rows(const struct top_sample *s, const struct top_view *view, size_t *count)
{
	static int (*const order[])(const void *a, const void *b) = {
		[TOP_BY_BYTES] = by_bytes,
		[TOP_BY_REGIONS] = by_regions,
		[TOP_BY_PINS] = by_pins,
		[TOP_BY_NAME] = by_name,
	};
	const struct top_process **rows;
	size_t i;

	*count = 0;
	rows = calloc(s->nr_processes, sizeof(*rows));
	if (!rows)
		return NULL;
	for (i = 0; i < s->nr_processes; i++)
		if (passes(&s->processes[i], view->filter))
			rows[(*count)++] = &s->processes[i];
	qsort(rows, *count, sizeof(*rows), order[view->sort]);
	return rows;
}

/* ---- text ----------------------------------------------------------------------- */

/* Formats a rate in a few characters; "-": unknown. */
static struct text text_a_second(double rate)
{
	struct text t;

	if (rate < 0)
		snprintf(t.at, sizeof(t.at), "-");
	else if (rate >= 1e7)
		snprintf(t.at, sizeof(t.at), "%.0fM", rate / 1e6);
	else if (rate >= 1e5)
		snprintf(t.at, sizeof(t.at), "%.0fk", rate / 1e3);
	else
		snprintf(t.at, sizeof(t.at), "%.0f", rate);
	return t;
}

static struct text text_traffic(double rate)
{
	struct text t;

	if (rate < 0)
		snprintf(t.at, sizeof(t.at), "-");
	else
		snprintf(t.at, sizeof(t.at), "%.1f MB/s", rate / 1e6);
	return t;
}

struct top_row top_row_title(const struct top_sample *s)
{
	uint64_t bytes = 0, regions = 0;
	struct top_row row;
	size_t i;

	for (i = 0; i < s->nr_processes; i++) {
		bytes += s->processes[i].bytes;
		regions += s->processes[i].regions;
	}
	snprintf(row.at, sizeof(row.at), "peerpin top  %s in %" PRIu64 " region%s of %zu process%s", text_bytes(bytes).at,
		 regions, regions == 1 ? "" : "s", s->nr_processes, s->nr_processes == 1 ? "" : "es");
	return row;
}

struct top_row top_row_gpu(const struct top_sample *s, unsigned int index)
{
	const struct pp_bar1 *gpu = &s->gpus[index];
	struct top_row row;

	snprintf(row.at, sizeof(row.at), "GPU %u  %s  BAR1 %s of %s used, %s more fit", s->gpu_index[index],
		 gpu->pci, text_bytes(gpu->used).at, text_bytes(gpu->total).at, text_bytes(bar1_fits(gpu, s->reserve)).at);
	return row;
}

struct top_row top_row_peer_names(void)
{
	struct top_row row;

	snprintf(row.at, sizeof(row.at), "%-20s %14s %11s", "PEER", "DMA", "TRANSFERS/S");
	return row;
}

struct top_row top_row_peer(const struct top_peer *p)
{
	struct top_row row;

	snprintf(row.at, sizeof(row.at), "%-20s %14s %11s", p->name, text_traffic(p->rate[TOP_BYTES]).at,
		 text_a_second(p->rate[TOP_TRANSFERS]).at);
	return row;
}

struct top_row top_row_process_names(void)
{
	struct top_row row;

	snprintf(row.at, sizeof(row.at), "%7s %-15s %10s %8s %7s %9s %7s %8s", "PID", "COMMAND", "PINNED", "REGIONS",
		 "PINS/S", "REVOKED/S", "HITS/S", "MISSES/S");
	return row;
}

struct top_row top_row_process(const struct top_process *p)
{
	struct top_row row;

	snprintf(row.at, sizeof(row.at), "%7d %-15.15s %10s %8" PRIu64 " %7s %9s %7s %8s", (int)p->pid, p->command,
		 text_bytes(p->bytes).at, p->regions, text_a_second(p->rate[TOP_PINS]).at,
		 text_a_second(p->rate[TOP_REVOKED]).at, text_a_second(p->rate[TOP_HITS]).at,
		 text_a_second(p->rate[TOP_MISSES]).at);
	return row;
}

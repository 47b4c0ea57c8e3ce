// SPDX-License-Identifier: MIT
/*
 * Names, types and labels of all metrics. A family is printed once, with all its samples. Labels of
 * processes and peers have values that are not known beforehand; sample.h bounds their number.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include "text.h"
#include "tool/machine/bar1.h"
#include "tool/util/printable.h"

enum type {
	GAUGE,
	COUNTER,
};

/** struct out - where the text goes, and the family that is being printed */
struct out {
	FILE *f;
	enum metrics_format format;
	const char *name;
	enum type type;
};

const char *metrics_content_type(enum metrics_format format)
{
	return format == METRICS_OPENMETRICS ? "application/openmetrics-text; version=1.0.0; charset=utf-8" :
					       "text/plain; version=0.0.4; charset=utf-8";
}

/* ---- format ------------------------------------------------------------------------ */

static bool is_in_bytes(const char *name)
{
	size_t length = strlen(name);

	return length > 6 && !strcmp(name + length - 6, "_bytes");
}

static void family(struct out *o, const char *name, enum type type, const char *help)
{
	const char *end = type == COUNTER && o->format == METRICS_PROMETHEUS ? "_total" : "";

	o->name = name;
	o->type = type;
	fprintf(o->f, "# HELP peerpin_%s%s %s\n", name, end, help);
	fprintf(o->f, "# TYPE peerpin_%s%s %s\n", name, end, type == COUNTER ? "counter" : "gauge");
	if (o->format == METRICS_OPENMETRICS && is_in_bytes(name))
		fprintf(o->f, "# UNIT peerpin_%s bytes\n", name);
}

/* @labels: NULL, or pairs of name and value, and NULL */
static void put_labels(FILE *f, const char *name, va_list labels)
{
	const char *before = "{", *value;
	char text[128];
	size_t i;

	for (; name; name = va_arg(labels, const char *)) {
		value = va_arg(labels, const char *);
		snprintf(text, sizeof(text), "%s", value);
		make_printable(text);
		fprintf(f, "%s%s=\"", before, name);
		for (i = 0; text[i]; i++)
			fprintf(f, text[i] == '"' || text[i] == '\\' ? "\\%c" : "%c", text[i]);
		fputc('"', f);
		before = ",";
	}
	if (*before == ',')
		fputc('}', f);
}

/* @label: NULL, or the name of a label, followed by its value, more such pairs, and NULL */
static void sample(struct out *o, uint64_t value, const char *label, ...)
{
	va_list more;

	fprintf(o->f, "peerpin_%s%s", o->name, o->type == COUNTER ? "_total" : "");
	va_start(more, label);
	put_labels(o->f, label, more);
	va_end(more);
	fprintf(o->f, " %" PRIu64 "\n", value);
}

/* ---- the machine --------------------------------------------------------------------- */

static const struct {
	enum counter counter;
	const char *name;
	enum type type;
	const char *help;
} of_machine[] = {
	{ COUNTER_BYTES, "pinned_bytes", GAUGE, "Bytes that are pinned now, by all processes." },
	{ COUNTER_REGIONS, "pinned_regions", GAUGE, "Regions that are pinned now, by all processes." },
	{ COUNTER_PINS, "pins", COUNTER, "Pins that succeeded." },
	{ COUNTER_REFUSED, "refused_pins", COUNTER, "Pins that failed." },
	{ COUNTER_REVOKED, "revocations", COUNTER, "Regions that were revoked, because their memory was freed." },
	{ COUNTER_TIMEOUTS, "drain_timeouts", COUNTER, "Waits for DMA that exceeded drain_timeout_ms." },
	{ COUNTER_OVERSTAYS, "overstays", COUNTER, "Regions that were unmapped while DMA was in flight." },
	{ COUNTER_WATCHES, "watches", GAUGE, "Watches of host memory that is not pinned." },
	{ COUNTER_WATCHES_CHANGED, "watches_changed", COUNTER, "Watches that ended because their memory could change." },
	{ COUNTER_TRANSFERS, "transfers", COUNTER, "DMA transfers of all peers that have ended." },
	{ COUNTER_TRANSFER_BYTES, "transfer_bytes", COUNTER, "Bytes of the DMA transfers that have ended." },
};

static void put_machine(struct out *o, const struct metrics_sample *s)
{
	size_t i;

	family(o, "build_info", GAUGE, "1, with the version of the tool.");
	sample(o, 1, "version", PP_VERSION, NULL);
	family(o, "module_loaded", GAUGE, "1: the kernel module is loaded.");
	sample(o, s->loaded, NULL);
	for (i = 0; i < sizeof(of_machine) / sizeof(of_machine[0]); i++) {
		if (!s->counters.known[of_machine[i].counter])
			continue;
		family(o, of_machine[i].name, of_machine[i].type, of_machine[i].help);
		sample(o, s->counters.value[of_machine[i].counter], NULL);
	}
}

static void put_peers(struct out *o, const struct metrics_sample *s, enum peer_counter which, const char *name,
		      const char *help)
{
	size_t i;

	if (!s->counters.nr_peers)
		return;
	family(o, name, COUNTER, help);
	for (i = 0; i < s->counters.nr_peers && i < METRICS_PEERS; i++)
		sample(o, s->counters.peers[i].value[which], "peer", s->counters.peers[i].name, NULL);
}

/* ---- GPUs ---------------------------------------------------------------------------- */

static uint64_t bar1_size(const struct metrics_sample *s, unsigned int i)
{
	return s->gpus[i].total;
}

static uint64_t bar1_used(const struct metrics_sample *s, unsigned int i)
{
	return s->gpus[i].used;
}

static uint64_t bar1_free(const struct metrics_sample *s, unsigned int i)
{
	return s->gpus[i].free;
}

static uint64_t bar1_pinnable(const struct metrics_sample *s, unsigned int i)
{
	return bar1_fits(&s->gpus[i], s->reserve);
}

static void put_gpus(struct out *o, const struct metrics_sample *s, const char *name,
		     uint64_t (*value)(const struct metrics_sample *, unsigned int), const char *help)
{
	unsigned int i;
	char index[16];

	if (!s->nr_gpus)
		return;
	family(o, name, GAUGE, help);
	for (i = 0; i < s->nr_gpus; i++) {
		snprintf(index, sizeof(index), "%u", s->gpu_index[i]);
		sample(o, value(s, i), "gpu", index, "pci", s->gpus[i].pci, NULL);
	}
}

/* ---- processes ------------------------------------------------------------------------- */

/* The sum over the processes that are not shown has no pid. */
static const char *pid_text(const struct metrics_process *p, char out[16])
{
	out[0] = '\0';
	if (p->pid)
		snprintf(out, 16, "%d", (int)p->pid);
	return out;
}

static void put_pinned(struct out *o, const struct metrics_process *p, bool bytes)
{
	char pid[16];
	size_t i;

	for (i = 0; i < p->nr_pinned; i++)
		sample(o, bytes ? p->pinned[i].bytes : p->pinned[i].regions, "pid", pid_text(p, pid), "command",
		       p->command, "provider", p->pinned[i].provider, NULL);
}

static void put_all_pinned(struct out *o, const struct metrics_sample *s, const char *name, bool bytes, const char *help)
{
	size_t i;

	family(o, name, GAUGE, help);
	for (i = 0; i < s->nr_processes; i++)
		put_pinned(o, &s->processes[i], bytes);
}

/** struct process_count - a total of a process: where it is in struct metrics_process, and whether it is known */
struct process_count {
	const char *name;
	size_t known, value;
	const char *help;
};

#define AT(member) offsetof(struct metrics_process, member)

static const struct process_count of_process[] = {
	{ "process_pins", AT(counted), AT(pins), "Pins of the process since it opened /dev/peerpin." },
	{ "process_revocations", AT(counted), AT(revoked), "Regions of the process that were revoked." },
	{ "process_cache_hits", AT(publishes), AT(hits), "Hits of the registration caches (PEERPIN_PUBLISH=1)." },
	{ "process_cache_misses", AT(publishes), AT(misses), "Misses of the registration caches (PEERPIN_PUBLISH=1)." },
};

static void put_process_count(struct out *o, const struct metrics_sample *s, const struct process_count *count)
{
	char pid[16];
	size_t i;

	family(o, count->name, COUNTER, count->help);
	for (i = 0; i < s->nr_processes; i++) {
		const char *at = (const char *)&s->processes[i];

		if (*(const bool *)(at + count->known))
			sample(o, *(const uint64_t *)(at + count->value), "pid", pid_text(&s->processes[i], pid),
			       "command", s->processes[i].command, NULL);
	}
}

static void put_processes(struct out *o, const struct metrics_sample *s)
{
	size_t i;

	family(o, "processes", GAUGE, "Processes that have /dev/peerpin open, hold pinned memory or publish.");
	sample(o, s->nr_all, NULL);
	family(o, "processes_of_all_users", GAUGE, "1: processes of all users are known; 0: only those of the user.");
	sample(o, s->told_by_core, NULL);
	put_all_pinned(o, s, "process_pinned_bytes", true, "Bytes that the process has pinned now.");
	put_all_pinned(o, s, "process_pinned_regions", false, "Regions that the process has pinned now.");
	for (i = 0; i < sizeof(of_process) / sizeof(of_process[0]); i++)
		put_process_count(o, s, &of_process[i]);
}

void metrics_print(FILE *f, enum metrics_format format, const struct metrics_sample *s)
{
	struct out o = { .f = f, .format = format };

	put_machine(&o, s);
	put_peers(&o, s, PEER_TRANSFERS, "peer_transfers", "DMA transfers of the peer that have ended.");
	put_peers(&o, s, PEER_BYTES, "peer_transfer_bytes", "Bytes of the DMA transfers of the peer that have ended.");
	put_peers(&o, s, PEER_TIMEOUTS, "peer_drain_timeouts", "Time-outs during which the peer had DMA in flight.");
	put_gpus(&o, s, "bar1_size_bytes", bar1_size, "Size of the BAR1 aperture.");
	put_gpus(&o, s, "bar1_used_bytes", bar1_used, "Bytes of BAR1 in use.");
	put_gpus(&o, s, "bar1_free_bytes", bar1_free, "Bytes of BAR1 that are free; the driver reserves some of them.");
	put_gpus(&o, s, "bar1_pinnable_bytes", bar1_pinnable, "Bytes of BAR1 that can still be pinned.");
	put_processes(&o, s);
	if (format == METRICS_OPENMETRICS)
		fputs("# EOF\n", f);
}

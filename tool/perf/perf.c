// SPDX-License-Identifier: MIT
/* peerpin perf: measures the operations of this machine, and prints each beside a baseline. */
#include <errno.h>
#include <string.h>
#include "machine.h"
#include "op.h"
#include "report.h"
#include "serve.h"
#include "tool/tool.h"

enum {
	TABLES = 7,
};

const char perf_groups[] = "pin, cache, dmabuf, cpu, copy, file, rdma";

bool perf_is_group(const char *name)
{
	size_t length = strlen(name);
	const char *at = perf_groups;

	for (; length && (at = strstr(at, name)); at += length)
		if ((at == perf_groups || at[-1] == ' ') && (!at[length] || at[length] == ','))
			return true;
	return false;
}

static void list_tables(const struct perf_op *tables[TABLES])
{
	tables[0] = pin_ops;
	tables[1] = cache_ops;
	tables[2] = dmabuf_ops;
	tables[3] = cpu_ops();
	tables[4] = copy_ops;
	tables[5] = file_ops;
	tables[6] = rdma_ops;
}

static size_t count_ops(const struct perf_op *const tables[TABLES], const struct perf_args *args)
{
	size_t count = 0, i;
	const struct perf_op *op;

	for (i = 0; i < TABLES; i++)
		for (op = tables[i]; op->name; op++)
			count += perf_wants(args, op->group);
	return count;
}

/* Each pass measures all operations, so that a change of speed in the meantime shows as noise. */
static void measure_pass(const struct perf_args *args, uint64_t pass, struct perf_result *out)
{
	const struct perf_op *tables[TABLES], *op;
	size_t count, nth = 0, i;
	char progress[80];

	list_tables(tables);
	count = count_ops(tables, args);
	for (i = 0; i < TABLES; i++)
		for (op = tables[i]; op->name; op++) {
			if (!perf_wants(args, op->group))
				continue;
			snprintf(progress, sizeof(progress), "[pass %u of %u, %zu/%zu]", (unsigned int)pass + 1,
				 (unsigned int)args->passes, ++nth, count);
			perf_measure(op, args, progress, out);
		}
}

static void measure_all(const struct perf_args *args, struct perf_result *out)
{
	uint64_t pass;

	for (pass = 0; pass < args->passes; pass++)
		measure_pass(args, pass, out);
	perf_end_rdma();
}

static void print(const struct perf_args *args, const struct perf_result *r)
{
	switch (args->format) {
	case PERF_JSON:
		perf_print_json(r);
		break;
	case PERF_CSV:
		perf_print_csv(r);
		break;
	case PERF_FULL:
		perf_print_full(r);
		break;
	default:
		perf_print_page(r);
	}
}

/* The comparison goes to stderr if stdout is for a program. */
static int compare(const struct perf_args *args, const struct perf_result *now, const struct perf_result *before)
{
	FILE *f = args->format == PERF_JSON || args->format == PERF_CSV ? stderr : stdout;

	return perf_compare(f, now, before, args->against, (double)args->noise) ? EXIT_FAILED : EXIT_OK;
}

static int show(const struct perf_args *args, const struct perf_result *now, const struct perf_result *before)
{
	int ret = 0;

	print(args, now);
	if (args->svg)
		ret = perf_write_svg(now, args->svg);
	if (!ret && args->against)
		ret = compare(args, now, before);
	return ret;
}

/* Before the measurement, which may take minutes */
static int check_svg(const char *path)
{
	FILE *f = path ? fopen(path, "ae") : NULL;

	if (path && !f)
		return fail("%s cannot be written: %s; give another --svg", path, strerror(errno));
	if (f)
		fclose(f);
	return 0;
}

static int check_measured(const struct perf_result *r)
{
	size_t i;

	for (i = 0; i < r->nr_rows; i++)
		if (r->rows[i].nr_points)
			return 0;
	return fail("nothing was measured: %s; see man peerpin-perf", r->rows[0].why);
}

static int measure_or_read(const struct perf_args *args, struct perf_result *out)
{
	if (args->from)
		return perf_read(args->from, out);
	perf_add_machine(args, out);
	measure_all(args, out);
	return check_measured(out);
}

static int run(int argc, char **argv)
{
	struct perf_result now = { 0 }, before = { 0 };
	struct perf_args args;
	int ret = parse_perf_args(argc, argv, &args);

	if (ret)
		return ret;
	if (args.serve)
		return perf_serve(&args);
	ret = check_svg(args.svg);
	if (!ret && args.against)
		ret = perf_read(args.against, &before);
	if (!ret)
		ret = measure_or_read(&args, &now);
	if (!ret)
		ret = show(&args, &now, &before);
	perf_free(&now);
	perf_free(&before);
	return ret;
}

const struct command perf_command = {
	.name = "perf",
	.summary = "measure pins, registrations, copies and RDMA of this machine",
	.usage = "perf [HOST] [--only GROUP,...] [--sizes 64-1G] [--repeat N] [--seconds S] [--passes N]\n"
		 "                    [--peer lsi0] [--dir DIR] [--port N] [--full | --json | --csv] [--svg FILE]\n"
		 "                    [--against FILE.json] [--noise PERCENT]\n"
		 "       peerpin perf --from FILE.json [--full | --json | --csv] [--svg FILE] [--against FILE.json]\n"
		 "       peerpin perf --serve [ADDRESS] [--port N] [--once]",
	.options =
		"  HOST                   second machine, on which peerpin perf --serve runs: measure RDMA too\n"
		"  --serve                serve other machines' RDMA until a signal comes\n"
		"  --once                 with --serve: end when the first machine closes its connection\n"
		"  --only GROUP,...       only some of: pin, cache, dmabuf, cpu, copy, file, rdma\n"
		"  --sizes LIST           bytes: a list such as 64,4K,1M, or a range, in steps of four (64-1G)\n"
		"  --repeat N             at most N samples of each size (1000)\n"
		"  --seconds S            at most S seconds for each size, but at least two samples in each pass (0.1)\n"
		"  --passes N             measure all N times, each time with a part of the samples: shows the noise (3)\n"
		"  --peer NAME            peer device that copies (lsi0)\n"
		"  --dir DIR              where the file to copy is made ($TMPDIR, or /var/tmp)\n"
		"  --port N               TCP port; RDMA uses the next one (7473)\n"
		"  --full                 print all sizes, not only the smallest and the largest\n"
		"  --json                 print one JSON object\n"
		"  --csv                  print a line for each size\n"
		"  --svg FILE             draw charts\n"
		"  --from FILE            show the result in a file of --json, and measure nothing\n"
		"  --against FILE         compare with a file of --json; status 1 if something is slower\n"
		"  --noise PERCENT        with --against: report only what is slower by more than PERCENT (10)\n",
	.examples =
		"  sudo peerpin perf\n"
		"  peerpin perf --only cpu,copy --sizes 4K,1M --json >before.json\n"
		"  peerpin perf --only cpu,copy --sizes 4K,1M --against before.json\n"
		"  peerpin perf --from before.json --svg before.svg\n"
		"  peerpin perf 10.0.0.2 --only rdma    # on 10.0.0.2: peerpin perf --serve\n",
	.page = "peerpin-perf",
	.run = run,
};

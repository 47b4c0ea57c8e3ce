// SPDX-License-Identifier: MIT
/* peerpin metrics: what peerpin knows about this machine, as text for Prometheus. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "args.h"
#include "listen.h"
#include "tool/tool.h"

static void print(FILE *f, const struct metrics_args *args)
{
	struct metrics_sample s;

	metrics_take(&s, args->processes);
	metrics_print(f, args->format, &s);
	metrics_free(&s);
}

static int no_file(const char *path)
{
	return fail("%s cannot be written: %s; give another --output", path, strerror(errno));
}

/* Readers of @path see the old or the new text, never a part. node_exporter reads no file that ends in .tmp. */
static int replace(const char *path, const struct metrics_args *args)
{
	char *tmp;
	FILE *f;
	int ret = 0;

	if (asprintf(&tmp, "%s.%d.tmp", path, (int)getpid()) < 0)
		no_memory();
	f = fopen(tmp, "wxe");
	if (!f) {
		ret = no_file(tmp);
		goto out;
	}
	fchmod(fileno(f), 0644);
	print(f, args);
	if (fclose(f) || rename(tmp, path)) {
		ret = no_file(path);
		unlink(tmp);
	}
out:
	free(tmp);
	return ret;
}

static int run(int argc, char **argv)
{
	struct metrics_args args;
	int ret = parse_metrics_args(argc, argv, &args);

	if (ret)
		return ret;
	if (args.listen)
		return metrics_listen(&args);
	if (args.output)
		return replace(args.output, &args);
	print(stdout, &args);
	return EXIT_OK;
}

const struct command metrics_command = {
	.name = "metrics",
	.summary = "print pins, revocations, BAR1 and transfers for Prometheus, or serve them by HTTP",
	.usage = "metrics [--format openmetrics|prometheus] [--processes 50] [--output FILE]\n"
		 "       peerpin metrics --listen ADDRESS:PORT [--processes 50]",
	.options =
		"  --format FORMAT        openmetrics, or prometheus for promtool and node_exporter (openmetrics)\n"
		"  --processes N          show the N processes with the most pinned memory one by one (50)\n"
		"  --output FILE          write into a file, which is replaced at once\n"
		"  --listen ADDRESS:PORT  serve /metrics by HTTP until a signal comes; without ADDRESS: 127.0.0.1\n",
	.examples =
		"  peerpin metrics | grep bar1\n"
		"  peerpin metrics --listen :9855\n"
		"  peerpin metrics --format prometheus --output /var/lib/prometheus/node-exporter/peerpin.prom\n"
		"  ls /usr/share/doc/peerpin/examples/monitoring    # systemd units for both ways, alerts, a dashboard\n",
	.page = "peerpin-metrics",
	.run = run,
};

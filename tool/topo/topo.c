// SPDX-License-Identifier: MIT
/* peerpin topo: shows the position of GPUs and possible peers, and the paths between them. */
#include <errno.h>
#include <getopt.h>
#include <string.h>
#include "tool/util/args.h"
#include "tool/machine/root.h"
#include "tool/tool.h"
#include "topo.h"

enum {
	ROOT = 256,
	JSON,
	SVG,
};

static const struct option options[] = {
	{ "root", required_argument, NULL, ROOT },
	{ "json", no_argument, NULL, JSON },
	{ "svg", required_argument, NULL, SVG },
	{ 0 },
};

struct topo_args {
	const char *root;
	const char *svg;
	bool json;
};

static int parse(int argc, char **argv, struct topo_args *out)
{
	int c;

	*out = (struct topo_args) { 0 };
	optind = 0;
	while ((c = next_option(argc, argv, options)) != -1) {
		if (c == '?')
			return EXIT_USAGE;
		if (c == ROOT)
			out->root = optarg;
		else if (c == SVG)
			out->svg = optarg;
		else
			out->json = true;
	}
	if (out->json && out->svg)
		return usage_error("topo takes one of --json and --svg");
	return 0;
}

static int draw(const struct topo *t, const char *path)
{
	FILE *f = fopen(path, "we");
	bool failed;

	if (!f)
		return fail("%s cannot be written: %s; give --svg another file", path, strerror(errno));
	topo_svg(t, f);
	failed = ferror(f);
	if (fclose(f) || failed)
		return fail("%s could not be written completely: %s; give --svg another file", path, strerror(errno));
	return EXIT_OK;
}

static int print(const struct topo *t, const struct topo_args *args)
{
	if (args->svg)
		return draw(t, args->svg);
	if (args->json)
		topo_json(t);
	else
		topo_text(t, stdout);
	return EXIT_OK;
}

static int explain(const struct topo_args *args, int error)
{
	if (error == -ENOENT && args->root)
		return fail("%s has no sys/bus/pci/devices; make it with: peerpin doctor --capture FILE.tar",
			    args->root);
	if (error == -ENOENT)
		return fail("there are no PCI devices in /sys; type: mount -t sysfs sysfs /sys");
	if (error == -E2BIG)
		return fail(MACHINE_TOO_LARGE, MACHINE_MAX_PAIRS);
	return fail("the list of PCI devices cannot be read: %s; type: sudo peerpin topo", strerror(-error));
}

static int show(const struct tree *tree, const struct topo_args *args)
{
	struct topo topo;
	int ret = topo_read(tree, &topo);

	if (ret)
		return explain(args, ret);
	ret = print(&topo, args);
	topo_free(&topo);
	return ret;
}

static int run(int argc, char **argv)
{
	struct topo_args args;
	struct root root;
	int ret = parse(argc, argv, &args);

	if (!ret)
		ret = root_open(args.root, &root);
	if (ret)
		return ret;
	ret = show(root.tree, &args);
	root_close(&root);
	return ret;
}

const struct command topo_command = {
	.name = "topo",
	.summary = "show where GPUs and their peers sit, and what lies between them",
	.usage = "topo [--root DIR|FILE.tar] [--json | --svg FILE]",
	.options =
		"  --root DIR|FILE.tar    show another machine, from the files that peerpin doctor --capture has copied\n"
		"  --json                 print one JSON object\n"
		"  --svg FILE             draw a picture\n",
	.examples =
		"  peerpin topo\n"
		"  peerpin topo --svg topology.svg\n",
	.page = "peerpin-topo",
	.run = run,
};

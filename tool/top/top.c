// SPDX-License-Identifier: MIT
/* peerpin top: shows which processes pin memory, and at which rates, live. */
#include "tool/tool.h"
#include "lines.h"
#include "screen.h"

static int run(int argc, char **argv)
{
	static struct top t;
	struct top_args args;
	int ret = parse_top_args(argc, argv, &args);

	if (ret)
		return ret;
	if (!args.lines && top_screen_works())
		ret = top_screen(&t, &args);
	else
		ret = top_lines(&t, &args);
	top_end(&t);
	return ret;
}

const struct command top_command = {
	.name = "top",
	.summary = "show live which processes pin memory, and how fast",
	.usage = "top [--once] [--interval SECONDS] [--count N] [--json]",
	.options =
		"  --once                 print lines for one interval, and end\n"
		"  --interval SECONDS     time between two samples, from 0.1 to 3600 (1)\n"
		"  --count N              end after N samples\n"
		"  --json                 print each sample as a JSON object in a line of its own\n",
	.examples =
		"  sudo peerpin top\n"
		"  sudo peerpin top --interval 10 >>pins.log\n"
		"  sudo peerpin top --once --json\n",
	.page = "peerpin-top",
	.run = run,
};

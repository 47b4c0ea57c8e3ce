// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "libpeerpin.h"
#include "tool.h"
#include "tool/util/colour.h"

static int help(int argc, char **argv);

static const struct command help_command = {
	.name = "help",
	.summary = "list the commands, or show the options of one",
	.usage = "help [COMMAND]",
	.examples = "  peerpin help copy\n",
	.run = help,
};

static const struct command *const commands[] = {
	&copy_command,
	&bar_command,
	&topo_command,
	&doctor_command,
	&top_command,
	&metrics_command,
	&perf_command,
	&verify_command,
	&help_command,
};

enum {
	NR_COMMANDS = sizeof(commands) / sizeof(commands[0]),
};

static const struct command *find(const char *name)
{
	int i;

	for (i = 0; i < NR_COMMANDS; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static const char common_options[] =
	"  --color WHEN           colours: auto (on a terminal, unless NO_COLOR is set), always or never (auto)\n"
	"  -h, --help             show this help\n";

static int list(void)
{
	int i;

	printf("usage: peerpin COMMAND [OPTION]...\n\ncommands:\n");
	for (i = 0; i < NR_COMMANDS; i++)
		printf("  %-8s %s\n", commands[i]->name, commands[i]->summary);
	printf("\noptions:\n%s"
	       "  --version              show the version\n\n"
	       "'peerpin COMMAND --help' shows the options of a command, and an example.\n"
	       "The member schema of JSON output names its JSON Schema, a file in /usr/share/peerpin/schema.\n"
	       "PEERPIN_DEBUG=1 in the environment: libraries say on stderr what they register and how, or why not.\n"
	       "Is something slow, or refused? Begin with: sudo peerpin doctor\n", common_options);
	return EXIT_OK;
}

static int show(const struct command *c)
{
	printf("usage: peerpin %s\n\n%s\n", c->usage, c->summary);
	printf("\noptions:\n%s%s", c->options ? c->options : "", common_options);
	printf("\nexamples:\n%s", c->examples);
	printf("\nmore: man %s\n", c->page ? c->page : "peerpin");
	return EXIT_OK;
}

static int help(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2)
		return list();
	command = find(argv[1]);
	if (!command)
		return usage_error("there is no command %s", argv[1]);
	if (argc > 2)
		return usage_error("help does not know what to do with %s", argv[2]);
	return show(command);
}

/* Words after "--" are no options of peerpin: verify passes them to the test. */
static bool wants_help(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help"))
			return true;
	return false;
}

/*
 * Takes --color=WHEN and --color WHEN out of the words before "--", because all commands have this option. Returns 0,
 * or EXIT_USAGE after printing the error.
 */
static int take_colour(int *argc, char **argv)
{
	int from, to = 1, ret = 0;

	for (from = 1; from < *argc && strcmp(argv[from], "--") && !ret; from++)
		if (!strncmp(argv[from], "--color=", 8))
			ret = colour_choose(argv[from] + 8);
		else if (!strcmp(argv[from], "--color"))
			ret = colour_choose(argv[++from]);
		else
			argv[to++] = argv[from];
	while (from < *argc)
		argv[to++] = argv[from++];
	argv[to] = NULL;
	*argc = to;
	return ret;
}

static int version(void)
{
	printf("peerpin %s\n", PP_VERSION);
	return EXIT_OK;
}

/*
 * If stdin, stdout or stderr is closed, the next open() would return this number, and output would go into the opened
 * file. So occupy these numbers with a read-only /dev/null: writes to it fail.
 */
static void keep_closed(void)
{
	int fd;

	do
		fd = open("/dev/null", O_RDONLY);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

/* Flushes the buffered output. Returns @status, or EXIT_FAILED if the output could not be written and @status is 0. */
static int finish(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	fail("the output could not be written: its disk is full or its pipe is closed; redirect it elsewhere");
	return status ? status : EXIT_FAILED;
}

static int run(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2)
		return usage_error("no command was given");
	if (!strcmp(argv[1], "--version"))
		return version();
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return list();
	command = find(argv[1]);
	if (!command)
		return usage_error("there is no command %s", argv[1]);
	set_command(command->name);
	if (wants_help(argc - 1, argv + 1))
		return show(command);
	return command->run(argc - 1, argv + 1);
}

static int start(int argc, char **argv)
{
	int ret = take_colour(&argc, argv);

	return ret ? ret : run(argc, argv);
}

int main(int argc, char **argv)
{
	keep_closed();
	return finish(start(argc, argv));
}

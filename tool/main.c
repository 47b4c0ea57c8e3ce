// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "libpeerpin.h"
#include "tool.h"

static int help(int argc, char **argv);

static const struct command help_command = {
	.name = "help",
	.summary = "list the commands, or show the usage of one",
	.usage = "help [COMMAND]",
	.run = help,
};

static const struct command *const commands[] = {
	&copy_command,
	&bar_command,
	&topo_command,
	&doctor_command,
	&top_command,
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

static void list(void)
{
	int i;

	printf("usage: peerpin COMMAND [OPTION]...\n\n");
	for (i = 0; i < NR_COMMANDS; i++)
		printf("  %-6s %s\n", commands[i]->name, commands[i]->summary);
	printf("\npeerpin help COMMAND tells more; peerpin --version\n");
}

static int help(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		list();
		return EXIT_OK;
	}
	command = find(argv[1]);
	if (!command)
		return usage_error("there is no command %s", argv[1]);
	printf("usage: peerpin %s\n", command->usage);
	return EXIT_OK;
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
	if (!strcmp(argv[1], "--help"))
		return help(0, argv);
	command = find(argv[1]);
	if (!command)
		return usage_error("there is no command %s", argv[1]);
	return command->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	keep_closed();
	return finish(run(argc, argv));
}

/* SPDX-License-Identifier: MIT */
/* Shared by all subcommands of peerpin: exit statuses and error messages. */
#ifndef TOOL_H
#define TOOL_H

enum {
	EXIT_OK,
	EXIT_FAILED,
	EXIT_USAGE,
};

/**
 * struct command - a row of the table in main.c; "peerpin help COMMAND" and "peerpin COMMAND --help" print its texts
 * @summary: one line for peerpin help
 * @usage: the command lines, without "peerpin" before the first one
 * @options: a line for each option, such as "  --json                 print one JSON object\n": the option in column 3,
 *	the text in column 26, the default in parentheses. NULL: no options. main.c adds --color and --help
 * @examples: lines such as "  peerpin bar --json\n"
 * @page: the man page; NULL: peerpin
 * @run: runs the subcommand; argv[0] is the subcommand's name. Returns the exit status
 */
struct command {
	const char *name;
	const char *summary;
	const char *usage;
	const char *options;
	const char *examples;
	const char *page;
	int (*run)(int argc, char **argv);
};

extern const struct command copy_command;
extern const struct command bar_command;
extern const struct command topo_command;
extern const struct command doctor_command;
extern const struct command top_command;
extern const struct command metrics_command;
extern const struct command perf_command;
extern const struct command verify_command;

/* Prints one line on stderr, prefixed with "peerpin: ". Returns EXIT_FAILED. */
int fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Names the subcommand for the messages of usage_error(). NULL: none. Keeps the pointer. */
void set_command(const char *name);

/* Prints such a line with "; type: peerpin COMMAND --help" at the end. Returns EXIT_USAGE. */
int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints an error and exits with EXIT_USAGE: doctor and verify use EXIT_FAILED for the problems that they find. */
void no_memory(void) __attribute__((noreturn));

#endif

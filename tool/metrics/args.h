/* SPDX-License-Identifier: MIT */
/* The command line of peerpin metrics. */
#ifndef METRICS_ARGS_H
#define METRICS_ARGS_H

#include <stdint.h>
#include <sys/socket.h>
#include "text.h"

/**
 * struct metrics_args - the arguments
 * @listen: NULL, or the text of --listen
 * @address: the parsed @listen
 * @output: NULL: stdout
 * @processes: the largest number of processes that are shown one by one
 */
struct metrics_args {
	enum metrics_format format;
	const char *listen;
	struct sockaddr_storage address;
	const char *output;
	uint64_t processes;
};

/* Returns 0, or EXIT_USAGE after printing the error. */
int parse_metrics_args(int argc, char **argv, struct metrics_args *out);

/* Parses "ADDRESS:PORT", "[ADDRESS]:PORT", ":PORT" or "PORT"; without ADDRESS it is 127.0.0.1. False: none of these. */
bool parse_address(const char *text, struct sockaddr_storage *out);

#endif

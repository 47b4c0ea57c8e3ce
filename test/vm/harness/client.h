/* SPDX-License-Identifier: MIT */
/* Runs a client program of the same directory, with another environment for each case. */
#ifndef CLIENT_H
#define CLIENT_H

#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "vmtest.h"

static unsigned int client_seconds = 600;	/* longest run */
static char client[512];
static char output[2048];

/* Runs the client with stderr in @output. Returns its exit status. */
static int run(const char *environment, const char *arguments)
{
	char command[1024];
	size_t length = 0;
	FILE *f;

	snprintf(command, sizeof(command), "%s timeout %u %s %s 2>&1", environment, client_seconds, client, arguments);
	f = popen(command, "re");
	if (f)
		length = fread(output, 1, sizeof(output) - 1, f);
	output[length] = '\0';
	return f ? pclose(f) : -1;
}

#define RUN(environment, arguments, want) \
	do { \
		int status_ = run(environment, arguments); \
		EXPECT(!status_ && !strcmp(output, want), "status %#x: %s", status_, output); \
	} while (0)

/* Returns 0 or -1. */
static int client_find(const char *name)
{
	ssize_t n = readlink("/proc/self/exe", client, sizeof(client) - 32);

	if (n <= 0)
		return -1;
	client[n] = '\0';
	dirname(client);
	strcat(strcat(client, "/"), name);
	return 0;
}

#endif

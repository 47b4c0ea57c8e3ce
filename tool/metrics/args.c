// SPDX-License-Identifier: MIT
#include <arpa/inet.h>
#include <getopt.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <string.h>
#include "args.h"
#include "tool/tool.h"
#include "tool/util/args.h"
#include "tool/util/units.h"

enum {
	DEFAULT_PROCESSES = 50,
	MAX_PROCESSES = 1000,
};

enum {
	FORMAT = 256,
	OUTPUT,
	PROCESSES,
	LISTEN,
};

static const struct option options[] = {
	{ "format", required_argument, NULL, FORMAT },
	{ "output", required_argument, NULL, OUTPUT },
	{ "processes", required_argument, NULL, PROCESSES },
	{ "listen", required_argument, NULL, LISTEN },
	{ 0 },
};

static bool parse_host(const char *host, uint16_t port, struct sockaddr_storage *out)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

	*out = (struct sockaddr_storage){ 0 };
	if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		return true;
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	return inet_pton(AF_INET6, host, &v6->sin6_addr) == 1;
}

bool parse_address(const char *text, struct sockaddr_storage *out)
{
	const char *colon = strrchr(text, ':'), *from = text;
	size_t length = colon ? (size_t)(colon - text) : 0;
	char host[64];
	uint64_t port;

	if (parse_number(colon ? colon + 1 : text, &port) || !port || port > UINT16_MAX || length >= sizeof(host))
		return false;
	if (length > 2 && text[0] == '[' && colon[-1] == ']') {
		from++;
		length -= 2;
	} else if (memchr(text, ':', length)) {
		return false;		/* an IPv6 address needs brackets */
	}
	snprintf(host, sizeof(host), "%.*s", (int)length, from);
	return parse_host(length ? host : "127.0.0.1", (uint16_t)port, out);
}

static int parse_format(const char *text, enum metrics_format *out)
{
	if (!strcmp(text, "openmetrics"))
		*out = METRICS_OPENMETRICS;
	else if (!strcmp(text, "prometheus"))
		*out = METRICS_PROMETHEUS;
	else
		return usage_error("--format is openmetrics or prometheus, not %s", text);
	return 0;
}

static int parse_processes(const char *text, uint64_t *out)
{
	if (parse_number(text, out) || *out > MAX_PROCESSES)
		return usage_error("--processes is a number from 0 to %d, not %s", MAX_PROCESSES, text);
	return 0;
}

static int parse_listen(const char *text, struct metrics_args *out)
{
	out->listen = text;
	if (!parse_address(text, &out->address))
		return usage_error("--listen is ADDRESS:PORT, such as 127.0.0.1:9855, not %s", text);
	return 0;
}

static int parse_option(int option, struct metrics_args *out)
{
	switch (option) {
	case FORMAT:
		return parse_format(optarg, &out->format);
	case PROCESSES:
		return parse_processes(optarg, &out->processes);
	case LISTEN:
		return parse_listen(optarg, out);
	default:
		out->output = optarg;
		return 0;
	}
}

int parse_metrics_args(int argc, char **argv, struct metrics_args *out)
{
	int c, ret;

	*out = (struct metrics_args){ .processes = DEFAULT_PROCESSES };
	optind = 0;
	while ((c = next_option(argc, argv, options)) != -1) {
		if (c == '?')
			return EXIT_USAGE;
		ret = parse_option(c, out);
		if (ret)
			return ret;
	}
	if (out->listen && out->output)
		return usage_error("--listen and --output exclude each other; give one of them");
	return 0;
}

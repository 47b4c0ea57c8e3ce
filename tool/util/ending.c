// SPDX-License-Identifier: MIT
#include <stdbool.h>
#include <stddef.h>
#include "ending.h"

static bool is_ignored(int signo)
{
	struct sigaction action;

	return !sigaction(signo, NULL, &action) && action.sa_handler == SIG_IGN;
}

sigset_t ending_signals(void)
{
	static const int signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE };
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!is_ignored(signals[i]))
			sigaddset(&set, signals[i]);
	return set;
}

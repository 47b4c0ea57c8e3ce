// SPDX-License-Identifier: MIT
/*
 * The network of emu/vm/cluster: an Ethernet switch between VMs.
 *
 *   wire SOCKET CARD...
 *
 * SOCKET is the Unix datagram socket of the switch, CARD that of a VM's network card: the
 * VM is started with emu/vm/run --net CARD:SOCKET. Runs until SIGTERM, SIGINT or SIGHUP, or
 * until the parent dies, and then removes SOCKET. Exit status: 0; 1 after an error; 2 usage.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "bridge.h"

static const char *path;

/* unlink() and _exit() are safe in a signal handler. */
static void end(int signo)
{
	(void)signo;
	unlink(path);
	_exit(0);
}

/* A signal that the parent ignores stays ignored: after Ctrl-C, emu/vm/cluster ends the VMs first. */
static void catch_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = end }, old;
	size_t i;

	sigfillset(&action.sa_mask);
	for (i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(signals[i], &action, NULL);
}

int main(int argc, char **argv)
{
	struct bridge *bridge;
	int ret;

	if (argc < 3) {
		fprintf(stderr, "usage: wire SOCKET CARD...\n");
		return 2;
	}
	path = argv[1];
	bridge = bridge_open(path, argv + 2, (size_t)argc - 2);
	if (!bridge) {
		fprintf(stderr, "wire: %s: %s\n", path, strerror(errno));
		return 1;
	}
	catch_signals();
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	do
		ret = bridge_step(bridge, -1);
	while (!ret);
	fprintf(stderr, "wire: %s: %s\n", path, strerror(-ret));
	bridge_close(bridge);
	return 1;
}

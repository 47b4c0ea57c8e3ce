// SPDX-License-Identifier: MIT
/*
 * libpeerpin-fi in Debian's libfabric, with the verbs provider on the RDMA adapter of the VM. host/libfabric_2 runs a
 * copy of this program beside a client of libfabric 2.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "test/vm/harness/client.h"
#include "test/vm/harness/module.h"

/* test/host/preload sets BESIDE to another library. The shell expands the variable. */
#define OURS "LD_PRELOAD=${BESIDE:+$BESIDE:}libpeerpin-fi.so.1 "
#define MODULE "LD_PRELOAD=libpeerpin-fi.so.1:$PWD/build/bin/test/fake/libverbs-fi.so "

static long watches_before;

SETUP(client_is_there)
{
	watches_before = watches();
	EXPECT(!client_find("fi_client") && watches_before >= 0, "readlink, or /proc/driver/peerpin: %ld", watches_before);
}

/* This shows that the cases below can fail. */
CASE(default_monitor_returns_stale_keys)
{
	RUN("", "stale 10", "10 stale of 10\n");
}

CASE(no_stale_key)
{
	RUN(OURS, "stale 300", "0 stale of 300\n");
}

CASE(no_stale_key_beside_frees)
{
	RUN(OURS, "threads 100", "0 stale of 400\n");
}

CASE(no_stale_key_in_second_domain)
{
	RUN(OURS, "domains 100", "0 stale of 100\n");
}

CASE(unchanged_memory_is_a_hit)
{
	RUN(OURS, "hits 1000", "1000 hits of 1000\n");
}

CASE(registrations_of_freed_memory_end)
{
	RUN(OURS, "released", "64 KiB with it, less after its free\n");
}

CASE(exit_with_open_registration)
{
	RUN(OURS, "exits", "exit with an open registration\n");
}

CASE(domain_is_closed_and_opened)
{
	RUN(OURS, "closes", "closed\n");
}

CASE(fork_leaves_parents_registrations)
{
	RUN(OURS, "forks", "the parent's registration is kept\n");
}

CASE(exec_starts_anew)
{
	RUN(OURS, "execs", "10 hits of 10\n");
}

CASE(preloaded_monitor_comes_first)
{
	RUN(OURS, "imports 10", "own monitor: EBUSY, 0 stale of 10\n");
}

CASE(second_importer_is_refused)
{
	RUN("", "calls 2", "import: Device or resource busy, again: Device or resource busy, 100 stale of 100\n");
}

CASE(program_imports_by_a_call)
{
	RUN("", "calls 1", "import: Success, again: Success, 0 stale of 100\n");
}

CASE(dlclose_with_open_registration)
{
	RUN("", "unloads 100", "0 stale of 100 after dlclose\n");
}

CASE(selected_monitor_is_kept)
{
	RUN(OURS "FI_MR_CACHE_MONITOR=memhooks ", "stale 10",
	    "libpeerpin-fi: libfabric keeps its own memory monitor: another monitor is imported already, in use, or "
	    "selected by FI_MR_CACHE_MONITOR\n10 stale of 10\n");
}

/* The provider in libfabric itself has the monitor. */
CASE(provider_module_is_named)
{
	RUN(MODULE, "stale 10",
	    "libpeerpin-fi: the cache of libverbs-fi.so has its own memory monitor and may miss frees; start the program "
	    "without libpeerpin-fi: FI_MR_CACHE_MONITOR=userfaultfd COMMAND\n0 stale of 10\n");
	EXPECT(!run(MODULE, "doctor") && strstr(output, "): a provider module of libfabric has its own cache"), "%s", output);
}

CASE(doctor_names_the_monitor)
{
	EXPECT(!run(OURS, "doctor") && strstr(output, "): libfabric's monitor is libpeerpin-fi: "), "%s", output);
	EXPECT(!run("", "doctor") && strstr(output, "): libfabric's monitor is memhooks: "), "%s", output);
}

CASE(absent_device_is_named)
{
	int status;

	EXPECT(!rename("/dev/peerpin", "/dev/peerpin.away"), "rename");
	status = run(OURS, "stale 10");
	EXPECT(!rename("/dev/peerpin.away", "/dev/peerpin"), "rename back");
	EXPECT(!status && strstr(output, "there is no /dev/peerpin; type: modprobe peerpin\n10 stale of 10\n"), "status %#x: %s",
	       status, output);
}

/* The suite line fi_gpu runs the next two cases: the adapter of its VM registers GPU memory. */
CASE_BY_NAME(default_monitor_returns_stale_keys_of_gpu_memory)
{
	RUN("", "gpu 10", "10 stale of 10\n");
}

CASE_BY_NAME(no_stale_key_of_gpu_memory)
{
	RUN(OURS, "gpu 100", "0 stale of 100\n");
}

/* Runs after the cases above, in which clients end in different ways. */
CASE(nothing_is_left)
{
	char regions[512];

	EXPECT(watches() == watches_before, "%ld watches, before %ld", watches(), watches_before);
	module_debugfs("peerpin/regions", regions, sizeof(regions));
	EXPECT(strchr(regions, '\n') && !strchr(regions, '\n')[1], "regions left: %s", regions);
}

/*
 * The environment variable ROUNDS is the number of rounds, rounded up to a multiple of PART; 1,000,000 if absent. Each
 * client process runs PART rounds. A remark with the sum follows, so an interrupted run has a result, too.
 */
CASE_BY_NAME(no_stale_key_in_a_million)
{
	enum { PART = 20000 };
	const char *value = getenv("ROUNDS");
	long wanted = value ? atol(value) : 1000000, done;
	time_t start = time(NULL);
	char arguments[64];

	client_seconds = 4000;
	EXPECT(wanted > 0, "ROUNDS=%s", value);
	EXPECT(!run("", "threads 25 1 4096") && atol(output) > 0, "the default monitor: %s", output);
	printf("# the default monitor: %s", output);
	for (done = 0; done < wanted; done += PART) {
		snprintf(arguments, sizeof(arguments), "threads %d 1 4096", PART / 4);
		RUN(OURS, arguments, "0 stale of 20000\n");
		printf("# 0 stale keys in %ld rounds, %ld s\n", done + PART, (long)(time(NULL) - start));
		fflush(stdout);
	}
}

VMTEST_MAIN

// SPDX-License-Identifier: MIT
/* libpeerpin-ucm in Debian's UCX, on the emulated RDMA adapter */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "test/vm/harness/client.h"
#include "test/vm/harness/module.h"

#define UCX "UCX_NET_DEVICES=rxe0:1 UCX_TLS=rc_v,ud_v UCX_IB_REG_METHODS=rcache UCX_WARN_UNUSED_ENV_VARS=n "
/* test/host/preload sets BESIDE to another library. The shell expands the variable. */
#define OURS "LD_PRELOAD=${BESIDE:+$BESIDE:}libpeerpin-hook.so.1:libpeerpin-ucm.so.1 " UCX
#define STOCK UCX
#define BOUND "LD_PRELOAD=libpeerpin-hook.so.1:libpeerpin-ucm.so.1:$PWD/build/bin/test/fake/bound.so "
#define REREG "LD_PRELOAD=libpeerpin-hook.so.1:libpeerpin-ucm.so.1:$PWD/build/bin/test/fake/rereg.so REREG="

static long watches_before;

SETUP(client_is_there)
{
	watches_before = watches();
	EXPECT(!client_find("ucm_client") && watches_before >= 0, "readlink, or /proc/driver/peerpin: %ld", watches_before);
}

/* These two show that the cases below can fail. */
CASE(raw_unmap_is_missed_without_us)
{
	RUN(STOCK, "host 1", "1 stale of 1 after a second\n");
}

CASE(gpu_free_is_missed_without_us)
{
	RUN(STOCK, "gpu 10", "10 stale of 10\n");
}

CASE(raw_unmap_is_told_within_a_second)
{
	RUN(OURS, "host 50", "0 stale of 50 after a second\n");
}

CASE(gpu_free_is_told_before)
{
	RUN(OURS, "gpu 100", "0 stale of 100\n");
}

CASE(unchanged_memory_is_a_hit)
{
	RUN(OURS, "hits 1000", "1000 hits of 1000\n");
}

CASE(fork_leaves_the_parent_watched)
{
	RUN(OURS, "forks", "0 stale after fork\n");
}

CASE(exit_with_open_registration)
{
	RUN(OURS, "exits", "exit with an open registration\n");
}

CASE(exec_starts_anew)
{
	RUN(OURS, "execs", "10 hits of 10\n");
}

/*
 * dlclose() does not unload the preloaded library. Without the preload, the library that dlopen() loads wraps no
 * function.
 */
CASE(dlclose_with_open_registration)
{
	RUN(OURS, "closes", "0 stale after dlclose\n");
	CHECK_CASE();
	RUN(STOCK, "closes", "1 stale after dlclose\n");
}

/* Debian's ibv_reg_mr_iova() calls ibv_reg_mr_iova2(), so two wrappers watch the range. Either of them is enough here. */
CASE(other_registrations_are_told)
{
	RUN(STOCK, "iova 3", "told of 0 of 3\n");
	CHECK_CASE();
	RUN(OURS, "iova 3", "told of 3 of 3\n");
}

/* In a libibverbs linked with -Bsymbolic no function calls the wrapper of another, so each function needs its own. */
CASE(each_registration_has_its_wrapper)
{
	RUN(BOUND, "reg 3", "told of 3 of 3\n");
	CHECK_CASE();
	RUN(BOUND, "iova 3", "told of 3 of 3\n");
	CHECK_CASE();
	RUN(BOUND, "iova2 3", "told of 3 of 3\n");
}

CASE(reregistered_memory_is_told)
{
	RUN(REREG "0 ", "rereg", "0: told of old 0, of new 1\n");
	CHECK_CASE();
	RUN(REREG "-1 ", "rereg", "-1: told of old 1, of new 0\n");	/* IBV_REREG_MR_ERR_INPUT: the old memory stays */
}

/* A watch has whole pages, so nothing can be watched. */
CASE(full_quota_is_named_once)
{
	const char *said;
	int status;

	EXPECT(!module_set("peerpin/parameters/max_process_watched_bytes", "4096"), "parameter");
	status = run(OURS, "iova 3");
	EXPECT(!module_set("peerpin/parameters/max_process_watched_bytes", "0"), "parameter");
	said = strstr(output, "libpeerpin-ucm: registered host memory is not watched, so UCX can miss its free: "
		      "the process would watch too much memory (max_process_watched_bytes): ");
	EXPECT(!status && said && !strstr(said + 1, "libpeerpin-ucm: ") && strstr(output, "told of 0 of 3\n"), "status %#x: %s",
	       status, output);
}

CASE(doctor_names_the_monitor)
{
	EXPECT(!run(OURS, "doctor") && strstr(output, "OK    ucx-monitor ") && strstr(output, "libpeerpin-ucm notifies UCX"),
	       "%s", output);
	EXPECT(!run(STOCK, "doctor") && strstr(output, "WARN  ucx-monitor "), "%s", output);
}

CASE(absent_device_is_named)
{
	int status;

	EXPECT(!rename("/dev/peerpin", "/dev/peerpin.away"), "rename");
	status = run(OURS, "gpu 10");
	EXPECT(!rename("/dev/peerpin.away", "/dev/peerpin"), "rename back");
	EXPECT(!status && strstr(output, "libpeerpin-ucm: frees of host memory are not reported to UCX: /dev/peerpin: ") &&
	       strstr(output, "; type: peerpin doctor\n") && strstr(output, "0 stale of 10\n"), "status %#x: %s", status, output);
}

/* Runs after the cases above, in which clients end in different ways. */
CASE(nothing_is_left)
{
	EXPECT(watches() == watches_before, "%ld watches, before %ld", watches(), watches_before);
}

VMTEST_MAIN

// SPDX-License-Identifier: MIT
/* libpeerpin-ucm in Debian's UCX, on the emulated RDMA adapter */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "test/vm/harness/client.h"

#define UCX "UCX_NET_DEVICES=rxe0:1 UCX_TLS=rc_v,ud_v UCX_IB_REG_METHODS=rcache UCX_WARN_UNUSED_ENV_VARS=n "
#define OURS "LD_PRELOAD=libpeerpin-hook.so.1:libpeerpin-ucm.so.1 " UCX
#define STOCK UCX

SETUP(client_is_there)
{
	EXPECT(!client_find("ucm_client"), "readlink");
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

CASE(absent_device_is_named)
{
	int status;

	EXPECT(!rename("/dev/peerpin", "/dev/peerpin.away"), "rename");
	status = run(OURS, "gpu 10");
	EXPECT(!rename("/dev/peerpin.away", "/dev/peerpin"), "rename back");
	EXPECT(!status && strstr(output, "libpeerpin-ucm: UCX is not told of freed host memory: /dev/peerpin: ") &&
	       strstr(output, "; type: peerpin doctor\n") && strstr(output, "0 stale of 10\n"), "status %#x: %s", status, output);
}

VMTEST_MAIN

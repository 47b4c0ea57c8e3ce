// SPDX-License-Identifier: MIT
/*
 * A hit of libfabric's registration cache, fi_mr_reg() and fi_close(): with libpeerpin-fi, and with libfabric's own
 * monitors. A monitor serves a process for its whole life, so each round is a process. QEMU without KVM takes several
 * host instructions for a load, so times are not comparable. bench/run uses --icount: then an instruction of the VM
 * counts as 1 ns, and the printed ns are instructions.
 */
#include "bench.h"

#include <libgen.h>

enum { ROUNDS = 5, HITS = 20000 };

enum monitor { OURS, MEMHOOKS, USERFAULTFD, MONITORS };

static const char *const environment[MONITORS] = {
	[OURS] = "LD_PRELOAD=libpeerpin-fi.so.1",
	[MEMHOOKS] = "FI_MR_CACHE_MONITOR=memhooks",
	[USERFAULTFD] = "FI_MR_CACHE_MONITOR=userfaultfd",
};

static uint64_t hit_ns(enum monitor monitor, unsigned int ranges)
{
	char client[512] = "", command[1024];
	unsigned long ns = 0;
	FILE *f;

	bench_need(readlink("/proc/self/exe", client, sizeof(client) - 1) > 0, "readlink", errno);
	snprintf(command, sizeof(command), "%s FI_MR_CACHE_MAX_COUNT=%u %s/../vm/fi_client rate %u %u",
		 environment[monitor], 2 * ranges, dirname(client), HITS, ranges);
	f = popen(command, "re");
	bench_need(f && fscanf(f, "%lu ns", &ns) == 1 && !pclose(f), command, EIO);
	return ns;
}

static void compare(unsigned int ranges)
{
	uint64_t ns[MONITORS][ROUNDS], median[MONITORS];
	char of[32];
	int i, m;

	for (i = 0; i < ROUNDS; i++)
		for (m = 0; m < MONITORS; m++)
			ns[m][i] = hit_ns(m, ranges);
	for (m = 0; m < MONITORS; m++)
		median[m] = bench_median(ns[m], ROUNDS);
	snprintf(of, sizeof(of), "%u cached", ranges);
	CLAIM(.what = "hit of libfabric's cache", .of = of, .ours = median[OURS], .beside = "memhooks",
	      .theirs = median[MEMHOOKS], .times = 1.1);
	CLAIM(.what = "hit of libfabric's cache", .of = of, .ours = median[OURS], .beside = "userfaultfd",
	      .theirs = median[USERFAULTFD]);
}

CASE(one_range)
{
	compare(1);
}

CASE(a_thousand_ranges)
{
	compare(1000);
}

VMTEST_MAIN

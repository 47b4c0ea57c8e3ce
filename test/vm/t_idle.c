// SPDX-License-Identifier: MIT
/* Nothing here polls: a process that has used the GPU, and the machine under it, come to rest. */
#include <cuda.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cu.h"
#include "vmtest.h"

enum {
	SECONDS = 3,
	WAKEUPS_MAX = 2,	/* this thread's own sleep */
	MACHINE_TICKS_MAX = 15,	/* of 100 a second and processor */
};

/*
 * How often any thread has gone to sleep. Processor time would say less: on an
 * emulated machine it counts while another process has the real processor.
 */
static long sleeps(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return use.ru_nvcsw;
}

/* Ticks of all processors that were neither idle nor waiting */
static long busy_ticks(void)
{
	unsigned long user, nice, system, idle, wait, irq, softirq;
	FILE *f = fopen("/proc/stat", "re");
	int n = f ? fscanf(f, "cpu %lu %lu %lu %lu %lu %lu %lu", &user, &nice, &system, &idle, &wait, &irq,
			   &softirq) : 0;

	if (f)
		fclose(f);
	return n == 7 ? (long)(user + nice + system + irq + softirq) : -1;
}

/* Leaves a context with a worker that has had something to do */
static void use_the_gpu(void)
{
	CUdeviceptr a, b;
	CUstream stream;

	EXPECT(cu_start(0), "no context");
	EXPECT(!cuMemAlloc(&a, 1 << 20) && !cuMemAlloc(&b, 1 << 20), "alloc");
	EXPECT(!cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
	EXPECT(!cuMemcpyDtoDAsync(b, a, 1 << 20, stream) && !cuStreamSynchronize(stream), "copy");
}

CASE(at_rest)
{
	long process, machine;

	use_the_gpu();
	CHECK_CASE();
	sleep(1);
	process = sleeps();
	machine = busy_ticks();
	sleep(SECONDS);
	process = sleeps() - process;
	machine = busy_ticks() - machine;
	EXPECT(process <= WAKEUPS_MAX, "the process went to sleep %ld times in %d s", process, SECONDS);
	EXPECT(machine < MACHINE_TICKS_MAX, "the machine: %ld ticks in %d s", machine, SECONDS);
}

VMTEST_MAIN

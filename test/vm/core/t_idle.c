// SPDX-License-Identifier: MIT
/* Nothing here polls: a process that has used the GPU, and the machine under it, come to rest. */
#include <cuda.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "test/vm/cuda/cu.h"
#include "pin.h"
#include "test/vm/harness/vmtest.h"

enum {
	SECONDS = 3,
	WAKEUPS_MAX = 2,	/* this thread's own sleep */
	MACHINE_TICKS_MAX = 15,	/* of 100 a second and processor */
	SWITCHES_MAX = 150,	/* what looks every 10 ms makes 600 */
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

/* How often any processor has gone from one thread to another, the kernel's included */
static long switches(void)
{
	FILE *f = fopen("/proc/stat", "re");
	char line[4096];
	long n = -1;

	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "ctxt %ld", &n);
	if (f)
		fclose(f);
	return n;
}

/* Leaves a context with a worker that has had something to do, and memory that is pinned */
static void use_the_gpu(void)
{
	int fd = pin_open();
	struct peerpin_pin pin;
	CUdeviceptr a, b;
	CUstream stream;

	EXPECT(cu_start(0), "no context");
	EXPECT(!cuMemAlloc(&a, 1 << 20) && !cuMemAlloc(&b, 1 << 20), "alloc");
	EXPECT(!cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
	EXPECT(!cuMemcpyDtoDAsync(b, a, 1 << 20, stream) && !cuStreamSynchronize(stream), "copy");
	EXPECT(!pin_at(fd, a, 1 << 20, &pin), "pin");
}

CASE(at_rest)
{
	long process, machine, others;

	use_the_gpu();
	CHECK_CASE();
	sleep(1);
	process = sleeps();
	machine = busy_ticks();
	others = switches();
	EXPECT(machine >= 0 && others >= 0, "/proc/stat");
	sleep(SECONDS);
	process = sleeps() - process;
	machine = busy_ticks() - machine;
	others = switches() - others;
	printf("# %ld sleeps, %ld ticks, %ld switches in %d s\n", process, machine, others, SECONDS);
	EXPECT(process <= WAKEUPS_MAX, "the process went to sleep %ld times in %d s", process, SECONDS);
	EXPECT(machine < MACHINE_TICKS_MAX, "the machine: %ld ticks in %d s", machine, SECONDS);
	EXPECT(others < SWITCHES_MAX, "the machine: %ld switches in %d s", others, SECONDS);
}

VMTEST_MAIN

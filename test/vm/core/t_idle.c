// SPDX-License-Identifier: MIT
/* Nothing polls: after a process has used the GPU, process and VM must become idle. */
#include <cuda.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "test/vm/cuda/cu.h"
#include "pin.h"
#include "test/vm/harness/vmtest.h"

enum {
	SECONDS = 3,
	WAKEUPS_MAX = 2,	/* maximum number of wake-ups: this thread itself sleeps */
	MACHINE_TICKS_MAX = 15,	/* maximum; each CPU has 100 ticks a second */
	SWITCHES_MAX = 150,	/* maximum; a poll every 10 ms makes 600 switches */
};

/*
 * Voluntary context switches of all threads. CPU time would be inexact: in an emulated VM the time
 * counts even while another process has the physical CPU.
 */
static long sleeps(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return use.ru_nvcsw;
}

/* Ticks of all CPUs that were neither idle nor in I/O wait. */
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

/* Context switches of all CPUs; kernel threads count, too. */
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

/* Make a context, let its worker thread run, and pin. Release neither. */
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

CASE(idle_process_does_not_poll)
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
	EXPECT(machine < MACHINE_TICKS_MAX, "the VM: %ld busy ticks in %d s", machine, SECONDS);
	EXPECT(others < SWITCHES_MAX, "the VM: %ld context switches in %d s", others, SECONDS);
}

VMTEST_MAIN

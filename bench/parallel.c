// SPDX-License-Identifier: MIT
/*
 * Do two processes that pin and unpin wait for each other? Pins of an empty provider
 * (test/kmod/null_provider.c) share only the core. Pins of host memory also share the kernel's
 * memory management, and pins of GPU memory share a lock of the GPU driver. The benchmark counts
 * waits for locks of the kernel. It also prints the throughput, which depends on other load. Two
 * processes that only make system calls show the possible maximum of throughput.
 */
#include <cuda.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "bench.h"
#include "locks.h"

enum {
	ROUNDS = 21,
	ROUND_MS = 50,
	BATCH = 50,
	LENGTH = 64 << 10,
	WORKERS = 2,
};

enum phase {
	GETTING_READY,
	RUNNING,
	LEAVING,
};

/* A process. Each has its own cache line, to avoid false sharing */
struct worker {
	_Alignas(64) atomic_uint phase;	/* last phase that the process has reached */
	uint64_t done;
};

static struct shared {
	_Alignas(64) atomic_uint phase;
	struct worker workers[WORKERS];
} *shared;

static int fd;
static uint64_t addr;
static uint32_t provider;

static void pin_once(void)
{
	struct peerpin_pin pin;
	int ret = pin_by(fd, addr, LENGTH, provider, &pin);

	bench_need(!ret, "PEERPIN_IOC_PIN", ret);
	ret = unpin(fd, pin.out_region);
	bench_need(!ret, "PEERPIN_IOC_UNPIN", ret);
}

static void call_once(void)
{
	syscall(SYS_getppid);
}

static void no_set_up(void)
{
}

static void null_set_up(void)
{
	provider = PEERPIN_PROVIDER_TEGRA;
	addr = 1 << 20;
}

static void host_set_up(void)
{
	void *memory = aligned_alloc(LENGTH, LENGTH);

	bench_need(!!memory, "memory", ENOMEM);
	memset(memory, 1, LENGTH);
	provider = PEERPIN_PROVIDER_HOST;
	addr = (uintptr_t)memory;
}

static void gpu_set_up(void)
{
	CUcontext context;
	CUdeviceptr memory;

	bench_need(!cuInit(0) && !cuDevicePrimaryCtxRetain(&context, 0) && !cuCtxSetCurrent(context) &&
		   !cuMemAlloc(&memory, 2 << 20), "CUDA", ENODEV);
	provider = PEERPIN_PROVIDER_NV;
	addr = memory;
}

/**
 * struct work - a measured kind of work
 * @one: operations of one process in its best round
 * @two: operations of two processes together in their best round
 * @total: operations of two processes in all rounds
 * @waits: waits for locks during the operations of @total
 */
struct work {
	const char *name;
	void (*set_up)(void);
	void (*once)(void);
	uint64_t one;
	uint64_t two;
	uint64_t total;
	uint64_t waits;
};

static struct work calls = { .name = "system calls", .set_up = no_set_up, .once = call_once };
static struct work null_pins = { .name = "pins of the null provider", .set_up = null_set_up, .once = pin_once };
static struct work host_pins = { .name = "pins of host memory", .set_up = host_set_up, .once = pin_once };
static struct work gpu_pins = { .name = "pins of GPU memory", .set_up = gpu_set_up, .once = pin_once };

/* Make many operations between two reads of the clock: in a VM these reads are slow and serialised. */
static void work_batch(const struct work *work)
{
	int i;

	for (i = 0; i < BATCH; i++)
		work->once();
}

static void wait_phase(const atomic_uint *phase, enum phase wanted)
{
	while (atomic_load(phase) < wanted)
		sched_yield();
}

static void work_round(const struct work *work, struct worker *me)
{
	uint64_t end;

	fd = pin_open();
	bench_need(fd >= 0, "/dev/peerpin", errno);
	work->set_up();
	work->once();
	atomic_store(&me->phase, RUNNING);
	wait_phase(&shared->phase, RUNNING);
	end = now_ns() + ROUND_MS * 1000000ull;
	for (me->done = 0; now_ns() < end; me->done += BATCH)
		work_batch(work);
	atomic_store(&me->phase, LEAVING);
	wait_phase(&shared->phase, LEAVING);
	_exit(0);
}

static void start(const struct work *work, struct worker *worker)
{
	pid_t pid;

	atomic_store(&worker->phase, GETTING_READY);
	pid = fork();
	bench_need(pid >= 0, "fork", errno);
	if (!pid)
		work_round(work, worker);
}

static void wait_workers(int n, enum phase wanted)
{
	int i;

	for (i = 0; i < n; i++) {
		while (atomic_load(&shared->workers[i].phase) < wanted) {
			bench_need(!waitpid(-1, NULL, WNOHANG), "a worker", ECHILD);
			usleep(1000);
		}
	}
}

/* Return the operations of @n processes together, without the start and the end of a round. */
static uint64_t run(const struct work *work, int n)
{
	uint64_t done = 0;
	int i;

	atomic_store(&shared->phase, GETTING_READY);
	for (i = 0; i < n; i++)
		start(work, &shared->workers[i]);
	wait_workers(n, RUNNING);
	locks_watch(n > 1);
	atomic_store(&shared->phase, RUNNING);
	wait_workers(n, LEAVING);
	locks_watch(0);
	atomic_store(&shared->phase, LEAVING);
	for (i = 0; i < n; i++)
		wait(NULL);
	for (i = 0; i < n; i++)
		done += shared->workers[i].done;
	return done;
}

static void measure(struct work *work)
{
	uint64_t one, two;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		one = run(work, 1);
		two = run(work, 2);
		work->one = one > work->one ? one : work->one;
		work->two = two > work->two ? two : work->two;
		work->total += two;
	}
	work->waits = locks_take_count();
	printf("%s: waited for a lock %lu times in %lu; one process does %lu in %d ms, two %lu, %.2f times as many (best of %d)\n",
	       work->name, work->waits, work->total, work->one, ROUND_MS, work->two,
	       (double)work->two / work->one, ROUNDS);
}

CASE(the_kernel_tells_of_locks)
{
	int ret = locks_open();

	if (ret)
		SKIP("no event lock:contention_begin: %s", strerror(-ret));
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bench_need(shared != MAP_FAILED, "mmap", errno);
}

CASE(two_processes_do_not_wait_for_the_core)
{
	if (!shared)
		SKIP("nothing to count with");
	measure(&calls);
	measure(&null_pins);
	/* the page allocator of the kernel may take a lock now and then */
	CLAIM(.what = "waits for a lock, of pins by two processes at once", .unit = "in 1000",
	      .ours = 1000.0 * null_pins.waits / null_pins.total, .most = 1);
}

CASE(what_else_two_processes_wait_for)
{
	if (!shared)
		SKIP("nothing to count with");
	measure(&host_pins);
	measure(&gpu_pins);
	locks_close();
	/* the emulated GPU driver has one lock: this shows that waits are counted */
	EXPECT(gpu_pins.waits, "no wait was counted");
}

VMTEST_MAIN

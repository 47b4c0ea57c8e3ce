// SPDX-License-Identifier: MIT
/*
 * Several processors begin DMA on one region, so that its counts are spread over the processors. The end
 * of the region must still wait for each DMA, and leave nothing.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "core.h"

enum {
	DEVICE = 0,
	OTHER_DEVICE,
	MOST_THREADS = 16,
	PATIENCE_S = 20,
	TRANSFERS = 50,		/* in one system call: with a debug kernel an empty call takes longer than many transfers */
	TOO_SELDOM = 2048,	/* turns a second. The core spreads a count at 1,024 a second, PP_TURNS_MANY in turns.h */
};

static int fd;
static struct peerpin_pin pin;
static unsigned int count;	/* of threads: one for each processor */
/* Each thread has its own file of core_check, with the region and an attachment. */
static int files[MOST_THREADS];
static atomic_int stopped, bad;
static atomic_uint turns;

/* A count is spread in these functions. */
static const char *const probed[] = { "pp_inflight_spread_locked", "pp_ref_spread" };

SETUP(everything_is_there)
{
	char probe[96];
	unsigned int i;

	EXPECT_CORE();
	fd = pin_open();
	EXPECT(fd >= 0 && !core_register(DEVICE), "%d", fd);
	count = sysconf(_SC_NPROCESSORS_ONLN) < MOST_THREADS ? sysconf(_SC_NPROCESSORS_ONLN) : MOST_THREADS;
	if (count < 2)
		SKIP("one processor");
	for (i = 0; i < 2; i++) {
		snprintf(probe, sizeof(probe), "p:spread/%s peerpin:%s\n", probed[i], probed[i]);
		EXPECT(!text_to(TRACING "kprobe_events", probe, O_APPEND), "%s: %s", probed[i], strerror(errno));
	}
	EXPECT(!text_to(TRACING "events/spread/enable", "1", 0), "%s", strerror(errno));
	EXPECT_CLEAN();
}

static unsigned int spreads(const char *of)
{
	FILE *f = fopen(TRACING "trace", "re");
	unsigned int n = 0;
	char line[512];

	while (f && fgets(line, sizeof(line), f))
		n += line[0] != '#' && strstr(line, of);
	if (f)
		fclose(f);
	return n;
}

/* ---- threads -------------------------------------------------------------------- */

static int attach(int file)
{
	return core_get(file, fd, pin.out_region) ?: core_do(file, CORE_CHECK_ATTACH, DEVICE);
}

static int detach(int file)
{
	return core_do(file, CORE_CHECK_DETACH, DEVICE) ?: core_do(file, CORE_CHECK_PUT, 0);
}

/* Until the region ends, or until @stopped; the file is attached again then */
static void *use_it(void *arg)
{
	unsigned int me = (uintptr_t)arg;
	int file = files[me], ret;
	unsigned int more;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(me, &set);
	sched_setaffinity(0, sizeof(set), &set);
	ret = detach(file);
	while (!ret && !atomic_load(&stopped)) {
		ret = core_transfers(file, fd, pin.out_region, DEVICE, TRANSFERS, &more);
		atomic_fetch_add(&turns, more);
		ret = ret ?: attach(file) ?: core_begin(file, DEVICE, 0, 0, PAGE) ?: core_end(file, 0) ?: detach(file);
	}
	ret = ret ?: attach(file);
	if (ret && ret != -ESTALE && ret != -ENODEV && ret != -ENOENT)
		atomic_store(&bad, ret);
	return NULL;
}

static pthread_t threads[MOST_THREADS];
static bool too_slow;

static void join(void)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	EXPECT(!atomic_load(&bad), "a thread saw %d", atomic_load(&bad));
}

static void end_all(void)
{
	unsigned int i;

	atomic_store(&stopped, 1);
	join();
	for (i = 0; i < count; i++)
		close(files[i]);
	unpin(fd, pin.out_region);
	emu_free(gpu, GPU_A);
}

static void await_spread(void)
{
	unsigned int i;

	/* the region's references, the attachment's, and its DMA */
	for (i = 0; i < PATIENCE_S * 10; i++) {
		if (spreads("pp_inflight_spread_locked:") && spreads("pp_ref_spread:") >= 2)
			return;
		usleep(100000);
	}
	end_all();
	too_slow = atomic_load(&turns) < PATIENCE_S * TOO_SELDOM;
	if (too_slow)
		SKIP("the processors take turns too seldom: %u turns in %d s", atomic_load(&turns), PATIENCE_S);
	EXPECT(!"spread", "%u %u after %u turns", spreads("pp_inflight_spread_locked:"), spreads("pp_ref_spread:"),
	       atomic_load(&turns));
}

static void start(void)
{
	unsigned int i;

	if (too_slow)
		SKIP("the processors take turns too seldom");
	atomic_store(&stopped, 0);
	atomic_store(&bad, 0);
	atomic_store(&turns, 0);
	text_to(TRACING "trace", "\n", O_TRUNC);
	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK) && !pin_at(fd, GPU_A, BLOCK, &pin), "pin");
	for (i = 0; i < count; i++) {
		files[i] = core_open();
		EXPECT(!attach(files[i]), "attach");
		EXPECT(!pthread_create(&threads[i], NULL, use_it, (void *)(uintptr_t)i), "thread");
	}
	await_spread();
}

static void stop(void)
{
	atomic_store(&stopped, 1);
	join();
}

static void leave(void)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		close(files[i]);
	EXPECT_CLEAN();
}

/* ---- a waiting call ------------------------------------------------------------- */

static atomic_int returned;

static void *free_memory(__attribute__((unused)) void *arg)
{
	emu_free(gpu, GPU_A);
	atomic_store(&returned, 1);
	return NULL;
}

static void *unregister(__attribute__((unused)) void *arg)
{
	core_unregister(DEVICE);
	atomic_store(&returned, 1);
	return NULL;
}

/* @call must wait for a DMA of a thread that has begun on a spread count, and return after its end. */
static void wait_for_dma(void *(*call)(void *), int refusal)
{
	pthread_t caller;
	int i;

	start();
	CHECK_CASE();
	stop();
	CHECK_CASE();
	EXPECT(!core_begin(files[0], DEVICE, 1, 0, PAGE) && !core_begin(files[1], DEVICE, 1, 0, PAGE), "begin");
	atomic_store(&returned, 0);
	EXPECT(!pthread_create(&caller, NULL, call, NULL), "thread");
	for (i = 0; i < 500 && core_stale(files[0], 1) != 1; i++)
		usleep(10000);
	EXPECT(core_stale(files[0], 1) == 1, "the DMA is not stale");
	for (i = 0; i < 200 && core_begin(files[0], DEVICE, 2, 0, PAGE) != refusal; i++)
		core_end(files[0], 2);
	EXPECT(core_begin(files[0], DEVICE, 2, 0, PAGE) == refusal, "begin");
	EXPECT(!core_end(files[1], 1), "end");
	usleep(200000);
	EXPECT(!atomic_load(&returned), "did not wait for DMA");
	EXPECT(!core_end(files[0], 1), "end");
	pthread_join(caller, NULL);
}

CASE(free_waits_for_dma)
{
	EXPECT(!module_set("peerpin/parameters/drain_timeout_ms", "60000"), "timeout");
	wait_for_dma(free_memory, -ESTALE);
	CHECK_CASE();
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	leave();
}

CASE(unregistration_waits_for_dma)
{
	wait_for_dma(unregister, -ENODEV);
	CHECK_CASE();
	EXPECT(!core_register(DEVICE) && !unpin(fd, pin.out_region) && !emu_free(gpu, GPU_A), "unpin");
	leave();
}

/* stop() of another device, which the core calls first, waits here. DMA must be refused meanwhile. */
CASE(ended_region_refuses_dma_at_once)
{
	struct core_check c = { .peer = OTHER_DEVICE, .length = PAGE, .wait_in_stop = 1 };
	pthread_t caller;
	int i, err;

	start();
	CHECK_CASE();
	stop();
	CHECK_CASE();
	EXPECT(!core_register(OTHER_DEVICE), "register");
	EXPECT(!core_do(files[0], CORE_CHECK_ATTACH, OTHER_DEVICE) && !core_call(files[0], CORE_CHECK_BEGIN, &c), "begin");
	EXPECT(!pthread_create(&caller, NULL, free_memory, NULL), "thread");
	for (i = 0; i < 500 && !core_stops(OTHER_DEVICE); i++)
		usleep(10000);
	EXPECT(core_stops(OTHER_DEVICE) == 1 && !core_stops(DEVICE), "stops: %u, %u", core_stops(OTHER_DEVICE),
	       core_stops(DEVICE));
	err = core_begin(files[1], DEVICE, 1, 0, PAGE);
	if (!err)
		core_end(files[1], 1);
	EXPECT(!core_end(files[0], 0), "end");
	pthread_join(caller, NULL);
	EXPECT(err == -ESTALE, "begin: %d", err);
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	leave();
	CHECK_CASE();
	EXPECT(!core_unregister(OTHER_DEVICE), "unregister");
}

static unsigned long timeouts(void)
{
	FILE *f = fopen("/proc/driver/peerpin", "re");
	unsigned long n = ~0ul;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "timeouts %lu", &n) == 1)
			break;
	if (f)
		fclose(f);
	return n;
}

/* A grace period of RCU may take longer than the time for DMA. No driver is to blame for it. */
CASE(idle_region_is_no_timeout)
{
	unsigned long before = timeouts();

	EXPECT(!module_set("peerpin/parameters/drain_timeout_ms", "0"), "timeout");
	start();
	CHECK_CASE();
	stop();
	EXPECT(!emu_free(gpu, GPU_A) && before != ~0ul && timeouts() == before, "timeouts: %lu, before %lu", timeouts(), before);
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	EXPECT(!module_set("peerpin/parameters/drain_timeout_ms", "1000"), "timeout");
	leave();
}

CASE(overdue_dma_loses_its_mapping)
{
	unsigned long before = timeouts();

	start();
	CHECK_CASE();
	stop();
	EXPECT(!module_set("peerpin/parameters/drain_timeout_ms", "100"), "timeout");
	EXPECT(!core_begin(files[0], DEVICE, 1, 0, PAGE), "begin");
	EXPECT(!emu_free(gpu, GPU_A) && timeouts() > before, "no timeout");
	EXPECT(!unpin(fd, pin.out_region) && !core_end(files[0], 1), "end");
	EXPECT(!module_set("peerpin/parameters/drain_timeout_ms", "1000"), "timeout");
	leave();
}

CASE(free_beside_transfers)
{
	int i;

	for (i = 0; i < 5; i++) {
		start();
		CHECK_CASE();
		EXPECT(!emu_free(gpu, GPU_A), "free");
		join();
		CHECK_CASE();
		EXPECT(!unpin(fd, pin.out_region), "unpin");
		leave();
		CHECK_CASE();
	}
}

CASE(unpin_beside_transfers)
{
	int i;

	for (i = 0; i < 5; i++) {
		start();
		CHECK_CASE();
		EXPECT(!unpin(fd, pin.out_region), "unpin");
		join();
		CHECK_CASE();
		EXPECT(!emu_free(gpu, GPU_A), "free");
		leave();
		CHECK_CASE();
	}
}

CASE(nothing_is_left)
{
	EXPECT(!text_to(TRACING "events/spread/enable", "0", 0) && !text_to(TRACING "kprobe_events", "", O_TRUNC), "%s",
	       strerror(errno));
	EXPECT(!core_unregister(DEVICE), "unregister");
	EXPECT_CLEAN();
}

VMTEST_MAIN

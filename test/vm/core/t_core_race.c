// SPDX-License-Identifier: MIT
/* Free, unpin, close, detach and unregister run in threads that race without synchronization. */
#include <pthread.h>
#include <stdatomic.h>

#include "core.h"

enum {
	DEVICES = 2,
	SECONDS = 10,
	MOST_SECONDS = 90,	/* limit on a busy machine */
	ENOUGH = 5,
	THREADS = 6,
	MOST_THREADS = 16,
};

static atomic_int stopped;
static unsigned int count;	/* threads: one for each processor, from THREADS to MOST_THREADS */
static atomic_uint done[MOST_THREADS];

/* Events of a round. LATE counts calls that came too late; the others count calls that succeeded. */
enum { PINNED, GOT, ATTACHED, BEGUN, TAKEN, LATE, HAPPENED };

static atomic_uint happened[HAPPENED];

/* The memory that a round pins, with provider and flags of the pin */
static struct target {
	uint64_t addr;
	unsigned int provider;
	unsigned int flags;
} target;

/*
 * Switch off CONFIG_DMA_API_DEBUG by a filter for driver @nobody. It finds an entry by the address.
 * If a device has two mappings of a page, it may pick the entry whose mapping error is still
 * unchecked, and warn.
 */
static void let_dma_be(const char *nobody)
{
	int node = open("/sys/kernel/debug/dma-api/driver_filter", O_WRONLY | O_CLOEXEC);

	EXPECT(node < 0 || write(node, nobody, strlen(nobody)) > 0, "%s", strerror(errno));
	close(node);
}

SETUP(everything_is_there)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int i;

	count = processors < THREADS ? THREADS : processors < MOST_THREADS ? processors : MOST_THREADS;
	let_dma_be("nobody\n");
	CHECK_CASE();
	EXPECT_CORE();
	for (i = 0; i < DEVICES; i++)
		EXPECT(!core_register(i), "device %u", i);
	EXPECT(!module_set("peerpin/parameters/drain_timeout_ms", "20"), "timeout");
	EXPECT_CLEAN();
}

struct thread {
	unsigned int id;
	unsigned int seed;
	int bad;
	pthread_t pthread;
};

static unsigned int chance(struct thread *t, unsigned int of)
{
	return rand_r(&t->seed) % of;
}

/* Accept @ret if a call that lost a race may return it. */
static int allowed(struct thread *t, int ret)
{
	switch (ret) {
	case 0:
	case -ESTALE:
	case -EINVAL:	/* the memory is freed */
	case -ENODEV:
	case -ENXIO:	/* the device is not registered now */
	case -ENOENT:
	case -EBADF:
		return ret;
	}
	t->bad = ret;
	return ret;
}

/* Like allowed(); also count @what if @ret is 0. */
static int counted(struct thread *t, int what, int ret)
{
	if (!ret)
		atomic_fetch_add(&happened[what], 1);
	if (ret == -ESTALE)
		atomic_fetch_add(&happened[LATE], 1);
	return allowed(t, ret);
}

/* ---- work of the threads ------------------------------------------------------------- */

static void take_and_give_gpu_memory(struct thread *t)
{
	usleep(chance(t, 2000));
	if (chance(t, 3))
		counted(t, TAKEN, emu_free(gpu, target.addr));
	else
		counted(t, TAKEN, emu_revoke(gpu, target.addr));
	emu_alloc(gpu, target.addr, BLOCK);
}

static void take_and_give_host_memory(struct thread *t)
{
	void *m = (void *)target.addr;

	usleep(chance(t, 2000));
	if (chance(t, 2))
		counted(t, TAKEN, madvise(m, BLOCK, MADV_DONTNEED));
	else
		counted(t, TAKEN, mmap(m, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) !=
			m);
}

static void take_and_give(struct thread *t)
{
	if (target.provider == PEERPIN_PROVIDER_HOST)
		take_and_give_host_memory(t);
	else
		take_and_give_gpu_memory(t);
}

/* Begin a DMA. It ends in stop(), or late: in an interrupt, by END, or at close. */
static void fly(struct thread *t, int file)
{
	struct core_check c = { .peer = chance(t, DEVICES), .flight = chance(t, 4), .length = PAGE };

	c.end_in_stop = chance(t, 2);
	c.in_irq = chance(t, 2);
	if (counted(t, ATTACHED, core_call(file, CORE_CHECK_ATTACH, &(struct core_check){ .peer = c.peer })))
		return;
	if (!counted(t, BEGUN, core_call(file, CORE_CHECK_BEGIN, &c)) && chance(t, 8)) {
		usleep(chance(t, 300));
		allowed(t, core_call(file, CORE_CHECK_END, &c));
	}
	if (chance(t, 8))
		core_call(file, CORE_CHECK_DETACH, &c);
}

static void pin_fly_and_unpin(struct thread *t)
{
	struct core_check c = {
		.addr = target.addr, .length = (1 + chance(t, 8)) * GPU_PAGE, .provider = target.provider,
		.flags = target.flags,
	};
	int file = core_open();

	if (!counted(t, PINNED, core_call(file, CORE_CHECK_PIN, &c))) {
		fly(t, file);
		if (chance(t, 2))
			allowed(t, core_do(file, CORE_CHECK_UNPIN, 0));
	}
	close(file);
}

static void come_and_go(struct thread *t)
{
	unsigned int device = chance(t, DEVICES);

	usleep(chance(t, 3000));
	if (!allowed(t, core_unregister(device)))
		allowed(t, core_register(device));
}

/* A region pinned through /dev/peerpin; a call or a close unpins it */
static int shared_fd;
static atomic_uint shared_region;
static pthread_rwlock_t shared_gate = PTHREAD_RWLOCK_INITIALIZER;

static void pin_and_unpin_shared(struct thread *t)
{
	struct peerpin_pin pin = {
		.size = sizeof(pin), .addr = target.addr, .length = BLOCK, .provider = target.provider,
		.flags = target.flags,
	};

	if (!counted(t, PINNED, ioctl(shared_fd, PEERPIN_IOC_PIN, &pin) ? -errno : 0)) {
		atomic_store(&shared_region, pin.out_region);
		usleep(chance(t, 1500));
		if (chance(t, 4))
			allowed(t, unpin(shared_fd, pin.out_region));
	}
	if (chance(t, 6))
		return;
	pthread_rwlock_wrlock(&shared_gate);
	close(shared_fd);
	shared_fd = pin_open();
	pthread_rwlock_unlock(&shared_gate);
}

static void fly_over_shared(struct thread *t)
{
	int file = core_open(), ret;

	pthread_rwlock_rdlock(&shared_gate);
	ret = counted(t, GOT, core_get(file, shared_fd, atomic_load(&shared_region)));
	pthread_rwlock_unlock(&shared_gate);
	if (!ret)
		fly(t, file);
	if (!ret && chance(t, 2))
		core_do_in_irq(file, CORE_CHECK_PUT, 0);
	close(file);
}

/* pin_and_unpin_shared() occurs once, because only one thread may close and reopen @shared_fd. */
static void (*const jobs[MOST_THREADS])(struct thread *t) = {
	take_and_give, pin_fly_and_unpin, pin_fly_and_unpin, come_and_go, pin_and_unpin_shared, fly_over_shared,
	pin_fly_and_unpin, fly_over_shared, pin_fly_and_unpin, fly_over_shared, pin_fly_and_unpin, fly_over_shared,
	pin_fly_and_unpin, fly_over_shared, pin_fly_and_unpin, fly_over_shared,
};

/* ---- --------------------------------------------------------------------------------- */

static void *work(void *arg)
{
	struct thread *t = arg;

	while (!atomic_load(&stopped) && !t->bad) {
		jobs[t->id](t);
		atomic_fetch_add(&done[t->id], 1);
	}
	return NULL;
}

/* True if each thread and each event has reached its count. A persistent pin (flags) cannot be LATE. */
static int enough_happened(void)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (atomic_load(&done[i]) <= ENOUGH)
			return 0;
	for (i = 0; i < HAPPENED; i++)
		if (atomic_load(&happened[i]) <= ENOUGH && !(i == LATE && target.flags))
			return 0;
	return 1;
}

static void run_threads(struct thread *threads)
{
	int seconds = vmtest_rounds(SECONDS);
	unsigned int i;

	atomic_store(&stopped, 0);
	for (i = 0; i < HAPPENED; i++)
		atomic_store(&happened[i], 0);
	for (i = 0; i < count; i++) {
		atomic_store(&done[i], 0);
		threads[i] = (struct thread){ .id = i, .seed = i + 1 };
		EXPECT(!pthread_create(&threads[i].pthread, NULL, work, &threads[i]), "thread");
	}
	sleep(seconds);
	while (seconds++ < MOST_SECONDS && !enough_happened())
		sleep(1);
	atomic_store(&stopped, 1);
	for (i = 0; i < count; i++)
		pthread_join(threads[i].pthread, NULL);
}

static void race(void)
{
	struct thread threads[MOST_THREADS];
	unsigned int i;

	shared_fd = pin_open();
	run_threads(threads);
	CHECK_CASE();
	close(shared_fd);
	printf("#");
	for (i = 0; i < count; i++)
		printf(" %u", atomic_load(&done[i]));
	printf(" rounds; pinned, got, attached, begun, taken, late:");
	for (i = 0; i < HAPPENED; i++)
		printf(" %u", atomic_load(&happened[i]));
	printf("\n");
	for (i = 0; i < count; i++)
		EXPECT(!threads[i].bad && atomic_load(&done[i]) > ENOUGH, "thread %u saw %d after %u rounds", i,
		       threads[i].bad, atomic_load(&done[i]));
	for (i = 0; i < HAPPENED; i++)
		EXPECT(atomic_load(&happened[i]) > ENOUGH || (i == LATE && target.flags), "%u of number %u", atomic_load(&happened[i]),
		       i);
}

CASE(gpu_memory_races)
{
	target = (struct target){ .addr = GPU_A, .provider = PEERPIN_PROVIDER_NV };
	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK), "alloc");
	race();
	CHECK_CASE();
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

CASE(persistent_pin_races)
{
	target = (struct target){ .addr = GPU_A, .provider = PEERPIN_PROVIDER_NV, .flags = PEERPIN_PIN_PERSISTENT };
	EXPECT(!emu_alloc(gpu, GPU_A, BLOCK), "alloc");
	race();
	CHECK_CASE();
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT_CLEAN();
}

CASE(host_memory_races)
{
	void *m = mmap(NULL, BLOCK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	EXPECT(m != MAP_FAILED, "mmap");
	target = (struct target){ .addr = (uintptr_t)m, .provider = PEERPIN_PROVIDER_HOST };
	race();
	CHECK_CASE();
	munmap(m, BLOCK);
	EXPECT_CLEAN();
}

CASE(nothing_is_left)
{
	unsigned int i;

	for (i = 0; i < DEVICES; i++)
		EXPECT(!core_unregister(i), "device %u", i);
	EXPECT(!module_set("peerpin/parameters/drain_timeout_ms", "1000"), "timeout");
	let_dma_be("\n");
	CHECK_CASE();
	EXPECT_CLEAN();
}

VMTEST_MAIN

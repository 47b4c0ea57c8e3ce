// SPDX-License-Identifier: MIT
/* Import, attach, copy, unpin and free race with each other. */
#include "import.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { ROUNDS = 200, RACE_S = 4 };

static volatile const uint32_t *epochs;
static int lsi1;

SETUP(everything_is_there)
{
	EXPECT_NODES();
	lsi1 = open("/dev/lsi1", O_RDWR | O_CLOEXEC);
	EXPECT(lsi1 >= 0, "no /dev/lsi1; type: emu/vm/run --peers 2 ...");
	epochs = epochs_map(fd);
	EXPECT(epochs, "epochs");
	EXPECT(!set_dynamic(true), "dmabuf_dynamic");
	EXPECT(!host_make(&host, SIZE), "host memory");
	EXPECT_ALL_GONE();
}

/* ---- one region at a time, freed while devices attach and copy -------------------------- */

struct copier {
	int lsi;
	uint64_t at;		/* offset of the copier's part of host memory */
	struct peerpin_pin pin;
	atomic_int go;		/* 1: copy until an error; -1: end */
	atomic_int copies;
	int error;
	int torn;
};

static unsigned char round_byte;

/* Copy. If the copy succeeds, all its bytes must be equal, as in the source. */
static int copy_checked(struct copier *c)
{
	int err;

	memset(host.at + c->at, ~round_byte, BLOCK);
	err = lsi_copy(c->lsi, end_of(&host.pin, c->at), end_of(&c->pin, 0), BLOCK);
	if (!err && (host.at[c->at] != round_byte || memcmp(host.at + c->at, host.at + c->at + 1, BLOCK - 1)))
		c->torn++;
	return err;
}

static void *copier_run(void *arg)
{
	struct copier *c = arg;
	int go;

	while ((go = atomic_load(&c->go)) >= 0) {
		if (!go) {
			sched_yield();
			continue;
		}
		do {
			c->error = copy_checked(c);
			atomic_fetch_add(&c->copies, 1);
		} while (!c->error);
		atomic_store(&c->go, 0);
	}
	return NULL;
}

static void copier_start(struct copier *c, const struct peerpin_pin *pin)
{
	c->pin = *pin;
	atomic_store(&c->copies, 0);
	atomic_store(&c->go, 1);
}

/* Wait for the error: -ESTALE if the device was attached at the free, else -ENODEV. */
static void copier_wait(struct copier *c)
{
	while (atomic_load(&c->go))
		sched_yield();
	EXPECT(c->error == -ESTALE || c->error == -ENODEV, "a copy failed with %d", c->error);
	EXPECT(!c->torn, "a copy succeeded in part");
}

static void race_round(struct copier *c, int i)
{
	struct peerpin_pin pin;
	unsigned int attached;

	round_byte = i * 7 + 1;
	EXPECT(!pin_and_close(new_dmabuf(BLOCK), BLOCK, &pin), "pin: reason %u", pin.out_reason);
	EXPECT(!emu_fill(gpu, GPU_A, 1, round_byte, BLOCK), "fill");
	copier_start(&c[0], &pin);
	copier_start(&c[1], &pin);
	while (atomic_load(&c[0].copies) + atomic_load(&c[1].copies) < i % 4)
		sched_yield();
	usleep(i * 37 % 700);
	attached = attached_to(&pin);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT(!attached || epochs[pin.out_slot] != pin.out_epoch, "free returned before the epoch changed");
	copier_wait(&c[0]);
	copier_wait(&c[1]);
	CHECK_CASE();
	EXPECT(soon(memory_is_gone), "a mapping is left");
	EXPECT(!unpin(fd, pin.out_region), "unpin");
	EXPECT_ALL_GONE();
}

CASE(free_races_with_attach_and_copy)
{
	struct copier c[2] = { { .lsi = lsi }, { .lsi = lsi1, .at = BLOCK } };
	pthread_t threads[2];
	int i;

	EXPECT(!pthread_create(&threads[0], NULL, copier_run, &c[0]) &&
	       !pthread_create(&threads[1], NULL, copier_run, &c[1]), "threads");
	for (i = 0; i < vmtest_rounds(ROUNDS) && vmtest_result == VMTEST_OK; i++)
		race_round(c, i);
	for (i = 0; i < 2; i++) {
		atomic_store(&c[i].go, -1);
		pthread_join(threads[i], NULL);
	}
}

/* ---- all calls at once --------------------------------------------------------- */

static atomic_int race_over;
static atomic_uint imports, copies, stale;

static void *alloc_and_free(void *bad)
{
	(void)bad;
	while (!atomic_load(&race_over)) {
		emu_alloc(gpu, GPU_A, BLOCK);
		usleep(rand() % 300);
		emu_free(gpu, GPU_A);
	}
	return NULL;
}

/* Errors that are allowed while other threads free and allocate the range. */
static bool expected(int err)
{
	return !err || err == -ESTALE || err == -ENODEV || err == -ENOENT;
}

static void *import_and_copy(void *bad)
{
	struct peerpin_pin pin;
	int dmabuf, err;

	while (!atomic_load(&race_over)) {
		dmabuf = export(GPU_A, BLOCK);
		if (dmabuf < 0)
			continue;
		err = pin_and_close(dmabuf, BLOCK, &pin);
		if (err)
			*(int *)bad = err;
		if (err)
			continue;
		atomic_fetch_add(&imports, 1);
		err = copy_out(&pin, 0, PAGE);
		atomic_fetch_add(&copies, !err);
		atomic_fetch_add(&stale, err == -ESTALE);
		if (!expected(err))
			*(int *)bad = err;
		err = unpin(fd, pin.out_region);
		if (!expected(err))
			*(int *)bad = err;
	}
	return NULL;
}

/* Unpin regions that other threads use; region 0 is the host memory. */
static void *unpin_anything(void *bad)
{
	(void)bad;
	while (!atomic_load(&race_over))
		unpin(fd, 1 + rand() % 4);
	return NULL;
}

static void *unregister_and_register(void *bad)
{
	struct peer_check c = { .fd = fd, .region = 1, .length = PAGE, .max = ~0u };

	while (!atomic_load(&race_over)) {
		check_call(check, PEER_CHECK_SEGMENTS, &c);
		if (check_call(check, PEER_CHECK_UNREGISTER, &c) || check_call(check, PEER_CHECK_REGISTER, &c))
			*(int *)bad = 1;
	}
	return NULL;
}

static bool seen_enough(bool memory_goes)
{
	return atomic_load(&imports) > 10 && atomic_load(&copies) > 5 && (atomic_load(&stale) || !memory_goes);
}

/* Wait, longer on a slow machine. */
static void let_them_race(bool memory_goes)
{
	int i;

	sleep(vmtest_rounds(RACE_S));
	for (i = 0; i < 300 && !seen_enough(memory_goes); i++)
		usleep(100000);
}

static void race(void *(*const run[])(void *), int n, bool memory_goes)
{
	pthread_t threads[8];
	int bad[8] = { 0 };
	int i;

	EXPECT(host.pin.out_region == 0, "host memory has region id %u, not 0", host.pin.out_region);
	atomic_store(&race_over, 0);
	atomic_store(&imports, 0);
	atomic_store(&copies, 0);
	atomic_store(&stale, 0);
	for (i = 0; i < n; i++)
		EXPECT(!pthread_create(&threads[i], NULL, run[i], &bad[i]), "thread");
	let_them_race(memory_goes);
	atomic_store(&race_over, 1);
	for (i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		EXPECT(!bad[i], "thread %d saw %d", i, bad[i]);
	}
	printf("# %u imports, %u copies, %u stale\n", imports, copies, stale);
	EXPECT(seen_enough(memory_goes), "%u imports, %u copies, %u stale", imports, copies, stale);
	for (i = 1; i < 64; i++)
		unpin(fd, i);
	EXPECT_ALL_GONE();
}

CASE(import_copy_unpin_and_free)
{
	void *(*const run[])(void *) = { alloc_and_free, import_and_copy, import_and_copy, import_and_copy };

	race(run, 4, true);
}

CASE(unpin_races_with_attach)
{
	void *(*const run[])(void *) = { alloc_and_free, import_and_copy, import_and_copy, unpin_anything };

	race(run, 4, true);
}

CASE(register_races_with_import)
{
	void *(*const run[])(void *) = { alloc_and_free, import_and_copy, import_and_copy, unregister_and_register };

	race(run, 4, true);
}

CASE(register_races_with_static_import)
{
	void *(*const run[])(void *) = { alloc_and_free, import_and_copy, unpin_anything, unregister_and_register };

	EXPECT(!set_dynamic(false), "dmabuf_dynamic");
	race(run, 4, false);
}

VMTEST_MAIN

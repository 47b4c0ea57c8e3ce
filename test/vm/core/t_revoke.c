// SPDX-License-Identifier: MIT
/* Memory is revoked while a device uses it. */
#include <pthread.h>
#include <stdbool.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "test/vm/harness/emu.h"
#include "pin.h"
#include "test/vm/harness/vmtest.h"

enum {
	BLOCK = 2 << 20,
	SIZE = 8 << 20,
	FREES = 1000,
	KILLS = 100,
};

#define GPU_CANARY 0x280000000ull

static int gpu, fd, lsi;
static volatile const uint32_t *epochs;
static struct peerpin_pin a;
static unsigned char *host;
static unsigned char buffer[SIZE];

SETUP(everything_is_there)
{
	gpu = emu_open();
	fd = pin_open();
	lsi = lsi_open();
	EXPECT(gpu >= 0 && fd >= 0 && lsi >= 0, "%d %d %d", gpu, fd, lsi);
	epochs = epochs_map(fd);
	EXPECT(epochs, "epochs");
	EXPECT(!emu_alloc(gpu, GPU_A, SIZE), "alloc");
	EXPECT(!pin_at(fd, GPU_A, SIZE, &a), "pin");
	host = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	EXPECT(host != MAP_FAILED, "mmap");
}

CASE(copy_after_free_is_ESTALE)
{
	struct peerpin_pin b;
	struct peerpin_query q;

	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK), "alloc");
	EXPECT(!pin_at(fd, GPU_B, BLOCK, &b), "pin");
	EXPECT(!lsi_copy(lsi, (struct end){ fd, b.out_region, 0 }, (struct end){ fd, a.out_region, 0 }, BLOCK), "copy");
	EXPECT(!emu_free(gpu, GPU_B), "free");
	EXPECT(!query(fd, b.out_region, &q) && q.out_state == PEERPIN_STATE_REVOKED && !q.out_attached,
	       "state %u attached %u", q.out_state, q.out_attached);
	EXPECT(lsi_copy(lsi, (struct end){ fd, b.out_region, 0 }, (struct end){ fd, a.out_region, 0 }, 1) == -ESTALE,
	       "as destination");
	EXPECT(lsi_copy(lsi, (struct end){ fd, a.out_region, 0 }, (struct end){ fd, b.out_region, 0 }, 1) == -ESTALE,
	       "as source");
	EXPECT(!unpin(fd, b.out_region), "unpin");
}

CASE(copy_works_at_a_reused_address)
{
	struct peerpin_pin b;

	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK), "alloc");
	EXPECT(!pin_at(fd, GPU_B, BLOCK, &b), "pin");
	EXPECT(!lsi_copy(lsi, (struct end){ fd, b.out_region, 0 }, (struct end){ fd, a.out_region, 0 }, BLOCK), "copy");
	EXPECT(!unpin(fd, b.out_region) && !emu_free(gpu, GPU_B), "free");
}

/* ---- free in one thread, copies in another -------------------------------- */

struct race {
	struct peerpin_pin b;
	int b_is_source;
	atomic_int go;		/* region of the copies + 1; 0: idle; -1: end */
	atomic_int copies;	/* number of copies in this round */
	atomic_int error;	/* error that ended the round */
	atomic_int torn;	/* number of successful copies with wrong bytes */
};

static unsigned char race_byte(const struct race *r)
{
	return r->b.out_region * 7 + r->b.out_epoch * 13 + 1;
}

static int all_bytes(const unsigned char *p, unsigned char byte, size_t n)
{
	return p[0] == byte && !memcmp(p, p + 1, n - 1);
}

/* Copy from B to host memory while another thread frees B. All bytes of a successful copy can be checked. */
static int race_copy(struct race *r, uint32_t host_region)
{
	struct end b = { fd, r->b.out_region, 0 };
	struct end other = { fd, r->b_is_source ? host_region : a.out_region, 0 };
	int ret;

	if (!r->b_is_source)
		return lsi_copy(lsi, b, other, BLOCK);
	memset(host, 0, BLOCK);
	ret = lsi_copy(lsi, other, b, BLOCK);
	if (!ret && !all_bytes(host, race_byte(r), BLOCK))
		atomic_fetch_add(&r->torn, 1);
	return ret;
}

static void *race_copier(void *arg)
{
	struct race *r = arg;
	struct peerpin_pin h;
	int go, ret;

	if (pin_at(fd, (uintptr_t)host, BLOCK, &h))
		return NULL;
	while ((go = atomic_load(&r->go)) >= 0) {
		if (!go) {
			sched_yield();
			continue;
		}
		do {
			ret = race_copy(r, h.out_region);
			atomic_fetch_add(&r->copies, 1);
		} while (!ret);
		atomic_store(&r->error, ret);
		atomic_store(&r->go, 0);
	}
	unpin(fd, h.out_region);
	return NULL;
}

/* The next block gets the pages of a freed block. No device may write them. */
static void race_check_canary(void)
{
	EXPECT(!emu_alloc(gpu, GPU_CANARY, BLOCK), "alloc canary");
	EXPECT(!emu_fill(gpu, GPU_CANARY, 1, 0xC4, BLOCK), "fill");
	usleep(200);
	EXPECT(!emu_read(gpu, buffer, GPU_CANARY, BLOCK), "read");
	EXPECT(all_bytes(buffer, 0xC4, BLOCK), "the device wrote freed memory");
	EXPECT(!emu_free(gpu, GPU_CANARY), "free canary");
}

static void race_round(struct race *r, int i)
{
	struct emugpu_test before, after;

	atomic_store(&r->copies, 0);
	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK), "alloc");
	EXPECT(!emu_translate(gpu, GPU_B, &before), "translate");
	EXPECT(!pin_at(fd, GPU_B, BLOCK, &r->b), "pin: %u", r->b.out_reason);
	EXPECT(!emu_fill(gpu, GPU_B, 1, race_byte(r), BLOCK), "fill");
	atomic_store(&r->go, 1);
	while (atomic_load(&r->copies) < i % 4)
		sched_yield();
	usleep(i * 37 % 700);
	EXPECT(!emu_free(gpu, GPU_B), "free");
	EXPECT(epochs[r->b.out_slot] != r->b.out_epoch, "free returned before the epoch changed");
	race_check_canary();
	CHECK_CASE();
	while (atomic_load(&r->go))
		sched_yield();
	EXPECT(atomic_load(&r->error) == -ESTALE, "a copy failed with %d", atomic_load(&r->error));
	EXPECT(!atomic_load(&r->torn), "a copy succeeded in part");
	EXPECT(!unpin(fd, r->b.out_region), "unpin");
	/* The canary proves nothing, unless it had the same pages. */
	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK) && !emu_translate(gpu, GPU_B, &after) && !emu_free(gpu, GPU_B), "alloc");
	EXPECT(before.translate.out_vram_page / 4096 == after.translate.out_vram_page / 4096, "pages are not reused");
}

static void race_run(int b_is_source)
{
	struct race r = { .b_is_source = b_is_source };
	pthread_t copier;
	int i;

	EXPECT(!pthread_create(&copier, NULL, race_copier, &r), "thread");
	for (i = 0; i < vmtest_rounds(FREES / 2) && vmtest_result == VMTEST_OK; i++)
		race_round(&r, i);
	atomic_store(&r.go, -1);
	pthread_join(copier, NULL);
}

CASE(free_races_with_copies_into_memory)
{
	race_run(0);
}

CASE(free_races_with_copies_from_memory)
{
	race_run(1);
}

/* ---- unpin, close and pin race with revocation ---------------------------- */

static atomic_int stop_all;
static atomic_uint pinned, copied, stale;

static void *free_and_alloc(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop_all)) {
		emu_alloc(gpu, GPU_B, BLOCK);
		usleep(rand() % 200);
		emu_free(gpu, GPU_B);
	}
	return NULL;
}

/* Count the result of a copy after a pin. */
static void note(int ret)
{
	atomic_fetch_add(&pinned, 1);
	atomic_fetch_add(&copied, !ret);
	atomic_fetch_add(&stale, ret == -ESTALE);
}

static void begin_race(void)
{
	atomic_store(&stop_all, 0);
	atomic_store(&pinned, 0);
	atomic_store(&copied, 0);
	atomic_store(&stale, 0);
}

static bool seen_enough(void)
{
	return atomic_load(&pinned) > 100 && atomic_load(&copied) > 10;
}

/* Wait, longer on a slow machine. */
static void let_them_race(void)
{
	int i;

	sleep(vmtest_rounds(4));
	for (i = 0; i < 300 && !seen_enough(); i++)
		usleep(100000);
	atomic_store(&stop_all, 1);
}

static void *pin_copy_unpin(void *arg)
{
	struct peerpin_pin b;
	int *bad = arg, ret;

	while (!atomic_load(&stop_all)) {
		ret = pin_at(fd, GPU_B, BLOCK, &b);
		if (ret && ret != -EINVAL && ret != -ESTALE)
			*bad = ret;
		if (ret)
			continue;
		ret = lsi_copy(lsi, (struct end){ fd, b.out_region, 0 }, (struct end){ fd, a.out_region, 0 }, 65536);
		note(ret);
		if (ret && ret != -ESTALE)
			*bad = ret;
		ret = unpin(fd, b.out_region);
		if (ret)
			*bad = ret;
	}
	return NULL;
}

CASE(pin_unpin_free_and_copy_race)
{
	pthread_t t[4];
	int bad[4] = { 0 };
	int i;

	begin_race();
	for (i = 0; i < 4; i++)
		EXPECT(!pthread_create(&t[i], NULL, i ? pin_copy_unpin : free_and_alloc, &bad[i]), "thread");
	let_them_race();
	for (i = 0; i < 4; i++) {
		pthread_join(t[i], NULL);
		EXPECT(!bad[i], "thread %d saw %d", i, bad[i]);
	}
	EXPECT(seen_enough() && stale, "%u pins, %u copies, %u stale", pinned, copied, stale);
}

/* Unpin regions that other threads use. */
static void *unpin_anything(void *arg)
{
	(void)arg;
	while (!atomic_load(&stop_all))
		unpin(fd, 1 + rand() % 8);
	return NULL;
}

static int pin_copy_unmap(void)
{
	struct peerpin_pin h;
	char *m = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int ret;

	ret = pin_at(fd, (uintptr_t)m, 65536, &h);
	if (!ret) {
		ret = lsi_copy(lsi, (struct end){ fd, h.out_region, 0 }, (struct end){ fd, a.out_region, 0 }, 65536);
		note(ret);
	}
	munmap(m, 65536);
	if (!ret || ret == -ESTALE)
		ret = unpin(fd, h.out_region);
	return ret == -ENOENT ? 0 : ret;
}

static void *pin_copy_unmap_loop(void *arg)
{
	int *bad = arg, ret;

	while (!atomic_load(&stop_all)) {
		ret = pin_copy_unmap();
		if (ret && ret != -EINVAL)	/* the id may now name a region of another thread */
			*bad = ret;
	}
	return NULL;
}

CASE(unpin_attach_and_munmap_race)
{
	struct peerpin_query q;
	int bad[4] = { 0 };
	pthread_t t[4];
	int i;

	EXPECT(a.out_region == 0, "region A has id %u, not 0", a.out_region);
	begin_race();
	for (i = 0; i < 4; i++)
		EXPECT(!pthread_create(&t[i], NULL, i ? pin_copy_unmap_loop : unpin_anything, &bad[i]), "thread");
	let_them_race();
	for (i = 0; i < 4; i++) {
		pthread_join(t[i], NULL);
		EXPECT(!bad[i], "thread %d saw %d", i, bad[i]);
	}
	EXPECT(seen_enough(), "%u pins, %u copies", pinned, copied);
	for (i = 1; i < 1000; i++)
		unpin(fd, i);
	EXPECT(!query(fd, 0, &q) && q.out_state == PEERPIN_STATE_LIVE, "region A is not live");
}

/* ---- killed ----------------------------------------------------------------- */

static void victim(atomic_int *copies)
{
	int g = emu_open(), f = pin_open(), l = lsi_open();
	struct peerpin_pin x, y, h;

	if (emu_alloc(g, GPU_A, SIZE) || emu_alloc(g, GPU_B, SIZE) || pin_at(f, GPU_A, SIZE, &x) ||
	    pin_at(f, GPU_B, SIZE, &y) || pin_at(f, (uintptr_t)host, SIZE, &h))
		_exit(1);
	for (;; atomic_fetch_add(copies, 1))
		if (lsi_copy(l, (struct end){ f, y.out_region, 0 }, (struct end){ f, x.out_region, 0 }, SIZE) ||
		    lsi_copy(l, (struct end){ f, h.out_region, 0 }, (struct end){ f, x.out_region, 0 }, SIZE))
			_exit(2);
}

/* After its start the victim only copies. So the kill hits a copy. */
static int kill_in_copy(atomic_int *copies, unsigned int delay_us)
{
	int status;
	pid_t pid;

	atomic_store(copies, 0);
	pid = fork();
	if (!pid)
		victim(copies);
	while (!atomic_load(copies) && !waitpid(pid, &status, WNOHANG))
		usleep(200);
	usleep(delay_us);
	kill(pid, SIGKILL);
	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) ? 0 : -1;
}

CASE(kill_during_copy_leaks_nothing)
{
	struct emugpu_info before, after;
	struct emugpu_test counts;
	atomic_int *copies;
	int i;

	copies = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT(copies != MAP_FAILED, "mmap");
	EXPECT(!emu_info(gpu, 0, &before), "info");
	for (i = 0; i < vmtest_rounds(KILLS); i++)
		EXPECT(!kill_in_copy(copies, i * 97 % 5000), "the victim exited by itself");
	EXPECT(!emu_counts(gpu, &counts), "counts");
	EXPECT(counts.counts.out_pins == 1, "pins %u", counts.counts.out_pins);
	EXPECT(!emu_info(gpu, 0, &after), "info");
	EXPECT(after.out_bar1_used == before.out_bar1_used, "BAR1 %llu, before %llu", after.out_bar1_used,
	       before.out_bar1_used);
	EXPECT(after.out_vram_free == before.out_vram_free, "VRAM");
	munmap(copies, 4096);
}

CASE(revoked_memory_is_pinned_again)
{
	struct peerpin_pin old, again;
	int i;

	EXPECT(!emu_alloc(gpu, GPU_B, BLOCK), "alloc");
	for (i = 0; i < 20; i++) {
		EXPECT(!pin_at(fd, GPU_B, BLOCK, &old), "pin");
		EXPECT(!emu_revoke(gpu, GPU_B), "revoke");
		EXPECT(epochs[old.out_slot] != old.out_epoch, "not revoked");
		EXPECT(!pin_at(fd, GPU_B, BLOCK, &again), "pin again");
		EXPECT(again.out_region != old.out_region, "the id of a revoked region was given out");
		EXPECT(epochs[again.out_slot] == again.out_epoch, "not valid");
		EXPECT(!unpin(fd, again.out_region) && !unpin(fd, old.out_region), "unpin");
	}
	EXPECT(!emu_free(gpu, GPU_B), "free");
}

CASE(nothing_is_left)
{
	struct emugpu_test t;

	close(fd);
	close(lsi);
	EXPECT(!emu_free(gpu, GPU_A), "free");
	EXPECT(!emu_counts(gpu, &t), "counts");
	EXPECT(!t.counts.out_pins && !t.counts.out_violations && !t.counts.out_blocks,
	       "pins %u violations %llu blocks %u", t.counts.out_pins, t.counts.out_violations, t.counts.out_blocks);
	close(gpu);
}

VMTEST_MAIN

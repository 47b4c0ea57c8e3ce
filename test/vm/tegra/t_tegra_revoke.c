// SPDX-License-Identifier: MIT
/*
 * Revocation of memory of an integrated GPU. There put_pages runs the callback. After the callback,
 * put_pages must not be called. The cases count the calls, and expect no violation of the GPU
 * driver's rules.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

#include "test/vm/harness/module.h"
#include "test/vm/core/pin.h"
#include "tegra.h"

static int file, lsi, peer;
static uint64_t broken;
static volatile const uint32_t *epochs;

SETUP(nodes_are_there)
{
	struct peer_check c = { 0 };

	file = pin_open();
	lsi = lsi_open();
	peer = check_open();
	EXPECT(fd >= 0, "no /dev/emugpu; type: emu/vm/run --tegra ...");
	EXPECT(check >= 0, "no /dev/tegra_check; type: emu/vm/run --tegra --insmod build/KERNEL/test/tegra_check.ko ...");
	EXPECT(file >= 0 && lsi >= 0 && peer >= 0, "peerpin %d lsi %d peer_check %d", file, lsi, peer);
	EXPECT(!check_call(peer, PEER_CHECK_REGISTER, &c), "register");
	epochs = epochs_map(file);
	EXPECT(epochs, "epochs");
	broken = violations();
}

static uint64_t put_calls(void)
{
	return counts().counts.out_put_calls;
}

static uint64_t callbacks_run(void)
{
	return counts().counts.out_callbacks;
}

static void block_pinned(struct peerpin_pin *p)
{
	EXPECT(alloc_host(VA, BLOCK) == 0, "alloc");
	EXPECT(!pin_by(file, VA, BLOCK, PEERPIN_PROVIDER_TEGRA, p), "pin: %s, reason %u", strerror(errno),
	       p->out_reason);
}

/* ---- sequential calls --------------------------------------------------------- */

CASE(unpin_puts_once)
{
	uint64_t puts = put_calls(), before = callbacks_run();
	struct peerpin_pin p;

	block_pinned(&p);
	CHECK_CASE();
	EXPECT(!unpin(file, p.out_region), "unpin");
	EXPECT(put_calls() == puts + 1 && callbacks_run() == before + 1, "%lu puts, %lu callbacks",
	       put_calls() - puts, callbacks_run() - before);
	EXPECT(epochs[p.out_slot] != p.out_epoch, "the epoch did not change");
	EXPECT(nothing_pinned() && emu_free(fd, VA) == 0, "pins are left");
}

CASE(revoked_pin_is_not_put)
{
	uint64_t puts = put_calls(), before = callbacks_run();
	struct peerpin_query q;
	struct peerpin_pin p;

	block_pinned(&p);
	CHECK_CASE();
	EXPECT(!lsi_copy(lsi, (struct end){ file, p.out_region, 0 }, (struct end){ file, p.out_region, PAGE }, PAGE),
	       "copy: %s", strerror(errno));
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(epochs[p.out_slot] != p.out_epoch, "free returned before the epoch changed");
	EXPECT(!query(file, p.out_region, &q) && q.out_state == PEERPIN_STATE_REVOKED && !q.out_attached,
	       "state %u attached %u", q.out_state, q.out_attached);
	EXPECT(lsi_copy(lsi, (struct end){ file, p.out_region, 0 }, (struct end){ file, p.out_region, PAGE }, PAGE) ==
	       -ESTALE, "copied");
	EXPECT(!unpin(file, p.out_region), "unpin");
	EXPECT(put_calls() == puts && callbacks_run() == before + 1, "%lu puts, %lu callbacks", put_calls() - puts,
	       callbacks_run() - before);
	EXPECT(nothing_pinned(), "pins are left");
}

/* ---- DMA in flight --------------------------------------------------------------- */

static struct peer_check held;

static void hold(const struct peerpin_pin *p)
{
	held = (struct peer_check){ .fd = file, .region = p->out_region, .length = p->out_length };
	EXPECT(!check_call(peer, PEER_CHECK_HOLD, &held), "hold: %s", strerror(errno));
}

static void *end_after_200_ms(void *arg)
{
	usleep(200000);
	check_call(peer, PEER_CHECK_END, arg);
	return NULL;
}

CASE(free_waits_for_dma_in_flight)
{
	struct peer_check c = { 0 };
	struct peerpin_pin p;
	uint64_t start;
	pthread_t t;

	block_pinned(&p);
	CHECK_CASE();
	hold(&p);
	CHECK_CASE();
	start = now_ns();
	EXPECT(!pthread_create(&t, NULL, end_after_200_ms, &c), "thread");
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(now_ns() - start > 150000000, "returned early");
	pthread_join(t, NULL);
	EXPECT(!unpin(file, p.out_region) && nothing_pinned(), "pins are left");
}

/* After the drain timeout, the core must unmap the DMA and log the driver that did not end its DMA. */
CASE(free_times_out_on_overdue_dma)
{
	struct peerpin_pin p;
	uint64_t start;

	block_pinned(&p);
	CHECK_CASE();
	hold(&p);
	CHECK_CASE();
	start = now_ns();
	EXPECT(emu_free(fd, VA) == 0, "free");
	EXPECT(now_ns() - start > 900000000 && now_ns() - start < 3000000000, "%lu ns", now_ns() - start);
	EXPECT(nothing_pinned(), "pins are left");
	EXPECT(!check_call(peer, PEER_CHECK_END, &held), "end of overdue DMA");
	EXPECT(!unpin(file, p.out_region), "unpin");
}

static int gone_soon(void)
{
	int i;

	for (i = 0; i < 100 && !nothing_pinned(); i++)
		usleep(20000);
	return nothing_pinned();
}

/* Only work that the end of the DMA queues can put the pages. */
static void put_when_dma_ends(void)
{
	uint64_t puts = put_calls();

	usleep(100000);
	EXPECT(counts().counts.out_pins == 1 && put_calls() == puts, "pages put during DMA");
	EXPECT(!check_call(peer, PEER_CHECK_END, &held), "end");
	EXPECT(gone_soon(), "the pages stay pinned");
	EXPECT(put_calls() == puts + 1, "%lu puts", put_calls() - puts);
}

CASE(unpinned_pages_stay_for_overdue_dma)
{
	struct peerpin_pin p;

	block_pinned(&p);
	CHECK_CASE();
	hold(&p);
	CHECK_CASE();
	EXPECT(!unpin(file, p.out_region), "unpin");
	put_when_dma_ends();
	CHECK_CASE();
	EXPECT(emu_free(fd, VA) == 0, "free");
}

CASE(closed_pages_stay_for_overdue_dma)
{
	int kept = file;
	struct peerpin_pin p;

	file = pin_open();
	block_pinned(&p);
	CHECK_CASE();
	hold(&p);
	CHECK_CASE();
	close(file);
	file = kept;
	put_when_dma_ends();
	CHECK_CASE();
	EXPECT(emu_free(fd, VA) == 0, "free");
}

CASE(free_ends_a_late_unpin)
{
	uint64_t puts = put_calls(), before = callbacks_run();
	struct peerpin_pin p;

	block_pinned(&p);
	CHECK_CASE();
	hold(&p);
	CHECK_CASE();
	EXPECT(!unpin(file, p.out_region), "unpin");
	EXPECT(emu_free(fd, VA) == 0 && nothing_pinned(), "free");
	EXPECT(!check_call(peer, PEER_CHECK_END, &held), "end of overdue DMA");
	usleep(100000);
	EXPECT(put_calls() == puts && callbacks_run() == before + 1, "%lu puts, %lu callbacks", put_calls() - puts,
	       callbacks_run() - before);
}

/* ---- other processes ------------------------------------------------------------- */

/* The Tegra driver accepts a put by any process. */
CASE(last_close_by_child_puts)
{
	uint64_t puts = put_calls();
	struct peerpin_pin p;
	int kept = file, status;
	pid_t pid;

	file = pin_open();
	block_pinned(&p);
	CHECK_CASE();
	pid = fork();
	if (!pid) {
		usleep(200000);
		_exit(0);	/* this was the last process with the file open */
	}
	close(file);
	file = kept;
	EXPECT(counts().counts.out_pins == 1 && put_calls() == puts, "put while the child has the file");
	EXPECT(waitpid(pid, &status, 0) == pid && gone_soon(), "the pages stay pinned");
	EXPECT(put_calls() == puts + 1 && emu_free(fd, VA) == 0, "%lu puts", put_calls() - puts);
}

static void victim(int ready)
{
	struct peerpin_pin a, b;

	fd = emu_open();
	file = pin_open();
	lsi = lsi_open();
	if (alloc_host(VA, BLOCK) || alloc_host(VA + BLOCK, BLOCK) || pin_at(file, VA, BLOCK, &a) ||
	    pin_at(file, VA + BLOCK, BLOCK, &b))
		_exit(1);
	for (;;)
		if (lsi_copy(lsi, (struct end){ file, a.out_region, 0 }, (struct end){ file, b.out_region, 0 }, BLOCK) ||
		    write(ready, "x", 1) != 1)
			_exit(2);
}

/* Check the number of put_pages: NVIDIA's MMU notifier keeps the dead process's mm until put_pages. */
static void expect_puts(unsigned int expected, uint64_t puts, uint64_t before)
{
	int i;

	for (i = 0; i < 200 && expected && put_calls() == puts; i++)
		usleep(10000);
	usleep(100000);
	EXPECT(put_calls() == puts + expected && callbacks_run() == before + 1, "%lu puts, %lu callbacks",
	       put_calls() - puts, callbacks_run() - before);
	EXPECT(nothing_pinned() && violations() == broken, "%lu rules broken", violations() - broken);
}

static void pin_and_exit(bool by_driver)
{
	struct peer_check c = { .offset = VA, .length = BLOCK };
	struct peerpin_pin p;

	fd = emu_open();
	if (alloc_host(VA, BLOCK))
		_exit(1);
	_exit(by_driver ? check_call(peer, PEER_CHECK_PIN, &c) :
			  pin_by(pin_open(), VA, BLOCK, PEERPIN_PROVIDER_TEGRA, &p));
}

static void expect_exit_puts(unsigned int expected, bool by_driver)
{
	uint64_t puts = put_calls(), before = callbacks_run();
	struct peer_check c = { 0 };
	int status;
	pid_t pid = fork();

	if (!pid)
		pin_and_exit(by_driver);
	EXPECT(waitpid(pid, &status, 0) == pid && !status, "status %#x", status);
	if (by_driver)
		EXPECT(put_calls() == puts && !check_call(peer, PEER_CHECK_UNPIN, &c), "unpin: %s", strerror(errno));
	expect_puts(expected, puts, before);
}

/* A region of a driver outlives the process: its put comes after the callback. */
CASE(exit_puts_once)
{
	expect_exit_puts(1, false);
	CHECK_CASE();
	expect_exit_puts(1, true);
}

/* The OOM reaper and process_mrelease() unmap memory. So at the end of the process it is already unpinned. */
CASE(reaped_memory_is_not_put)
{
	EXPECT(!module_set("emugpu_tegra/parameters/reap", "1"), "%s", strerror(errno));
	expect_exit_puts(0, true);
	EXPECT(!module_set("emugpu_tegra/parameters/reap", "0"), "%s", strerror(errno));
}

static int kill_in_copy(unsigned int us)
{
	int ready[2], status;
	char byte;
	pid_t pid;

	if (pipe(ready))
		return -1;
	pid = fork();
	if (!pid)
		victim(ready[1]);
	close(ready[1]);
	if (read(ready[0], &byte, 1) == 1)
		usleep(us);
	kill(pid, SIGKILL);
	close(ready[0]);
	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 0 : -1;
}

CASE(kill_during_copy_leaves_nothing)
{
	uint64_t before = vram_free();
	int i;

	for (i = 0; i < 20; i++)
		EXPECT(!kill_in_copy(i * 397 % 5000), "the victim exited by itself");
	EXPECT(nothing_pinned() && vram_free() == before, "%u pins, %lu bytes", counts().counts.out_pins,
	       before - vram_free());
	EXPECT(violations() == broken, "%lu rules broken", violations() - broken);
}

/* ---- races of free with put and get ---------------------------------------------------- */

static void *free_block(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)emu_free(fd, VA);
}

/*
 * Free the block and unpin it meanwhile. The free sleeps @ms before its callback and holds the GPU
 * driver's lock. Returns whether the put waited for that lock: on a busy machine, the unpin may come too
 * early or too late for that.
 */
static bool put_waits_for_free(unsigned int ms)
{
	uint64_t puts = put_calls(), before = callbacks_run();
	struct peerpin_pin p;
	pthread_t thread;
	void *result;

	block_pinned(&p);
	if (vmtest_result != VMTEST_OK || emu_delay_callback(fd, ms) || pthread_create(&thread, NULL, free_block, NULL))
		return false;
	usleep(ms * 250);
	unpin(file, p.out_region);
	pthread_join(thread, &result);
	emu_delay_callback(fd, 0);
	return !result && put_calls() == puts + 1 && callbacks_run() == before + 1;
}

/* The put comes after the callback. */
CASE(put_after_freeing_callback_is_harmless)
{
	unsigned int ms;

	for (ms = 400; ms <= 6400 && !put_waits_for_free(ms); ms *= 4)
		CHECK_CASE();
	EXPECT(ms <= 6400, "the put never came during the free");
	EXPECT(nothing_pinned() && violations() == broken, "%lu rules broken", violations() - broken);
}

static void *unpin_it(void *arg)
{
	const struct peerpin_pin *p = arg;

	return (void *)(intptr_t)unpin(file, p->out_region);
}

/* The put sleeps before its callback. The free waits and then finds no pin. */
CASE(free_after_put_is_harmless)
{
	uint64_t puts = put_calls(), before = callbacks_run();
	struct peerpin_pin p;
	pthread_t thread;
	void *result;

	block_pinned(&p);
	CHECK_CASE();
	EXPECT(emu_delay_callback(fd, 400) == 0, "delay");
	EXPECT(!pthread_create(&thread, NULL, unpin_it, &p), "thread");
	usleep(100000);
	EXPECT(emu_free(fd, VA) == 0, "free");
	pthread_join(thread, &result);
	EXPECT(!result && emu_delay_callback(fd, 0) == 0, "unpin");
	EXPECT(put_calls() == puts + 1 && callbacks_run() == before + 1, "%lu puts, %lu callbacks",
	       put_calls() - puts, callbacks_run() - before);
	EXPECT(nothing_pinned() && violations() == broken, "%lu rules broken", violations() - broken);
}

/*
 * Both the callback of the free and the unpin wait for the DMA. NVIDIA's driver has already put its
 * notifier. So the unpin must not put, in whichever order the two continue.
 */
static void unpin_beside_callback(void)
{
	uint64_t puts = put_calls();
	struct peerpin_pin p;
	pthread_t threads[2];

	block_pinned(&p);
	CHECK_CASE();
	hold(&p);
	CHECK_CASE();
	EXPECT(!pthread_create(&threads[0], NULL, free_block, NULL), "thread");
	usleep(20000);
	EXPECT(!pthread_create(&threads[1], NULL, unpin_it, &p), "thread");
	usleep(20000);
	EXPECT(!check_call(peer, PEER_CHECK_END, &held), "end");
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	EXPECT(put_calls() == puts && nothing_pinned(), "%lu puts", put_calls() - puts);
}

CASE(no_put_after_the_callback_began)
{
	int i;

	for (i = 0; i < 50; i++) {
		unpin_beside_callback();
		CHECK_CASE();
	}
	EXPECT(violations() == broken, "%lu rules broken", violations() - broken);
}

static atomic_int stop, pinned, revoked;

static void *pin_copy_unpin(void *arg)
{
	struct peerpin_pin p;
	int *bad = arg, ret;

	while (!stop) {
		ret = pin_by(file, VA, BLOCK, PEERPIN_PROVIDER_TEGRA, &p);
		if (ret && ret != -EINVAL && ret != -ESTALE)
			*bad = ret;
		revoked += ret == -ESTALE;
		if (ret)
			continue;
		pinned++;
		ret = lsi_copy(lsi, (struct end){ file, p.out_region, 0 }, (struct end){ file, p.out_region, PAGE }, PAGE);
		if (ret && ret != -ESTALE)
			*bad = ret;
		revoked += ret == -ESTALE;
		ret = unpin(file, p.out_region);
		if (ret)
			*bad = ret;
	}
	return NULL;
}

CASE(free_races_with_pin_and_copy)
{
	int bad[3] = { 0 }, i, rounds;
	pthread_t threads[3];

	stop = 0;
	for (i = 0; i < 3; i++)
		EXPECT(!pthread_create(&threads[i], NULL, pin_copy_unpin, &bad[i]), "thread");
	for (rounds = 0; rounds < 400; rounds++)
		if (alloc_host(VA, BLOCK) || usleep(rounds * 37 % 3000) || emu_free(fd, VA))
			break;
	stop = 1;
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	EXPECT(!bad[0] && !bad[1] && !bad[2], "%d %d %d", bad[0], bad[1], bad[2]);
	EXPECT(rounds == 400 && pinned > 100 && revoked > 10, "%d rounds, %d pins, %d revoked", rounds, pinned, revoked);
	EXPECT(nothing_pinned() && vram_free() == 64 * MIB, "pins or memory are left");
	EXPECT(violations() == broken, "%lu rules broken", violations() - broken);
}

CASE(nothing_is_left)
{
	struct peer_check c = { 0 };

	EXPECT(!check_call(peer, PEER_CHECK_UNREGISTER, &c), "unregister");
	close(file);
	close(lsi);
	close(peer);
	EXPECT(nothing_pinned() && vram_free() == 64 * MIB, "%u pins", counts().counts.out_pins);
	/* At the removal of a consumer module, the emulator checks for leftovers. */
	EXPECT(!module_remove("peerpin_tegra"), "%s", strerror(errno));
	EXPECT(violations() == broken, "%lu rules broken", violations() - broken);
	EXPECT(!module_load("kmod/peerpin_tegra.ko", ""), "%s", strerror(errno));
}

VMTEST_MAIN

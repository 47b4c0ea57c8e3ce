// SPDX-License-Identifier: MIT
/*
 * Fifty processes allocate, pin, free, fork and die at random. Two drivers pin the same memory. At
 * the end nothing may be left.
 *
 * Each process has a slot of p2p_check, which outlives the process. A timer kills most processes at
 * any point. Processes with persistent pins die only where the parent knows the pins that are left.
 */
#include <signal.h>
#include <sys/time.h>

#include "test/vm/core/pin.h"	/* before p2p.h: its parameters would hide the variable fd of p2p.h */

#include "p2p.h"

enum {
	WORKERS = 50,
	PERSISTENT = 10,	/* number of workers with persistent pins */
	BLOCKS_MAX = 4,
	LIFE_MS_MAX = 400,
	SHORT_S = 15,
	LONG_S = 180,
	PATIENCE = 10,		/* factor: the run may last this many times longer */
};

struct worker {
	unsigned int slot;
	unsigned int seed;
	int gpu;		/* file descriptors, @gpu and @peerpin */
	int peerpin;
	uint64_t blocks[BLOCKS_MAX];
};

/* @held: pins that the parent must put for dead children; the rest is statistics */
static struct shared {
	bool held[WORKERS];
	unsigned long pins, shared_pins, forks;
} *shared;

static unsigned int chance(struct worker *w, unsigned int of)
{
	return rand_r(&w->seed) % of;
}

static uint64_t address(unsigned int i)
{
	return VA + 16 * i * BLOCK;
}

static void flip_block(struct worker *w, unsigned int i)
{
	if (w->blocks[i]) {
		emu_free(w->gpu, address(i));
		w->blocks[i] = 0;
		return;
	}
	if (!emu_alloc(w->gpu, address(i), BLOCK))
		w->blocks[i] = BLOCK;
}

/* The child must not be able to use the parent's file or to pin the parent's memory. */
static int child_has_no_right(struct worker *w)
{
	return emu_alloc(w->gpu, address(BLOCKS_MAX), BLOCK) == -EACCES &&
	       get(w->slot, address(0), PAGE) == -EINVAL ? 0 : 1;
}

static void fork_once(struct worker *w)
{
	sigset_t alarm;
	int status;
	pid_t pid;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigprocmask(SIG_BLOCK, &alarm, NULL);
	pid = fork();
	if (!pid)
		_exit(child_has_no_right(w));
	waitpid(pid, &status, 0);
	if (status)
		_exit(2);
	__atomic_add_fetch(&shared->forks, 1, __ATOMIC_RELAXED);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
}

static void pin_and_put(struct worker *w, unsigned int i)
{
	struct peerpin_pin region;
	bool both, mapped;

	if (get(w->slot, address(i), (1 + chance(w, BLOCK / PAGE)) * PAGE))
		return;
	__atomic_add_fetch(&shared->pins, 1, __ATOMIC_RELAXED);
	both = !pin_at(w->peerpin, address(i), BLOCK, &region);
	__atomic_add_fetch(&shared->shared_pins, both, __ATOMIC_RELAXED);
	mapped = chance(w, 2) && !map(w->slot, 0);
	if (chance(w, 3))
		flip_block(w, i);
	if (both && chance(w, 2))
		unpin(w->peerpin, region.out_region);
	if (callback(w->slot).out_count)
		return;
	if (mapped)
		unmap(w->slot, 0);
	put(w->slot);
}

static void live(struct worker *w)
{
	struct itimerval end = { .it_value.tv_usec = 1000 * (1 + chance(w, LIFE_MS_MAX)) };

	setitimer(ITIMER_REAL, &end, NULL);
	for (;;) {
		flip_block(w, chance(w, BLOCKS_MAX));
		pin_and_put(w, chance(w, BLOCKS_MAX));
		if (!chance(w, 40))
			fork_once(w);
		if (!chance(w, 60))
			_exit(0);
	}
}

static void live_with_persistent_pins(struct worker *w)
{
	while (chance(w, 30)) {
		flip_block(w, 0);
		if (get_persistent(w->slot, address(0), BLOCK))
			continue;
		shared->held[w->slot] = true;
		__atomic_add_fetch(&shared->pins, 1, __ATOMIC_RELAXED);
		if (chance(w, 2))
			flip_block(w, 0);
		if (!chance(w, 10))
			raise(SIGKILL);
		if (put_persistent(w->slot))
			_exit(3);
		shared->held[w->slot] = false;
	}
	_exit(0);
}

static pid_t spawn(unsigned int slot, unsigned int seed)
{
	struct worker w = { .slot = slot, .seed = seed };
	pid_t pid = fork();

	if (pid)
		return pid;
	w.gpu = emu_open();
	w.peerpin = pin_open();
	if (slot < PERSISTENT)
		live_with_persistent_pins(&w);
	live(&w);
	_exit(4);
}

static int put_what_is_held(unsigned int slot)
{
	int err = 0;

	if (shared->held[slot])
		err = put_persistent(slot);
	shared->held[slot] = false;
	return err;
}

static bool ended_as_meant(int status)
{
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGALRM || WTERMSIG(status) == SIGKILL;
	return WEXITSTATUS(status) == 0;
}

static unsigned int slot_of(const pid_t *pids, pid_t pid)
{
	unsigned int slot = 0;

	while (slot < WORKERS && pids[slot] != pid)
		slot++;
	return slot;
}

static bool has_happened(unsigned int deaths)
{
	return deaths > WORKERS && shared->pins > WORKERS && shared->shared_pins > WORKERS && shared->forks > 0;
}

/* True until the time is over and enough has happened. A VM on a busy host takes longer. */
static bool goes_on(uint64_t start, unsigned int seconds, unsigned int deaths)
{
	uint64_t passed = (now_ns() - start) / 1000000000;

	return passed < seconds || (passed < PATIENCE * seconds && !has_happened(deaths));
}

/* Replace each dead process, until the time is over. */
static void storm(unsigned int seconds)
{
	uint64_t start = now_ns();
	unsigned int slot, left = WORKERS, seed = 1, deaths = 0;
	pid_t pids[WORKERS], pid;
	int status;

	for (slot = 0; slot < WORKERS; slot++)
		pids[slot] = spawn(slot, seed++);
	while (left) {
		pid = waitpid(-1, &status, 0);
		slot = slot_of(pids, pid);
		EXPECT(slot < WORKERS, "an unknown process died");
		EXPECT(ended_as_meant(status), "slot %u: status %#x", slot, status);
		EXPECT(put_what_is_held(slot) == 0, "put of slot %u", slot);
		deaths++;
		if (goes_on(start, seconds, deaths))
			pids[slot] = spawn(slot, seed++);
		else
			left--;
	}
	printf("# %u deaths, %lu pins, %lu of them by both, %lu forks\n", deaths, shared->pins, shared->shared_pins,
	       shared->forks);
	EXPECT(has_happened(deaths), "too few pins, forks or deaths");
}

static void check_storm(unsigned int seconds)
{
	struct emugpu_info before, after;
	uint64_t breaches = violations();

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	EXPECT(shared != MAP_FAILED, "%s", strerror(errno));
	EXPECT(emu_info(fd, 0, &before) == 0, "info");
	storm(seconds);
	CHECK_CASE();
	EXPECT(emu_info(fd, 0, &after) == 0, "info");
	EXPECT(nothing_pinned(), "%u pins, %u maps, %lu bytes of BAR1", counts().counts.out_pins,
	       counts().counts.out_dma_maps, bar1_used());
	EXPECT(counts().counts.out_blocks == 0 && counts().counts.out_clients == 1, "%u blocks, %u clients",
	       counts().counts.out_blocks, counts().counts.out_clients);
	EXPECT(after.out_vram_free == before.out_vram_free, "%llu bytes of VRAM are lost",
	       before.out_vram_free - after.out_vram_free);
	EXPECT(violations() == breaches, "%lu breaches of the rules", violations() - breaches);
}

CASE(fifty_random_processes_leave_nothing)
{
	check_storm(vmtest_rounds(SHORT_S));
}

CASE_BY_NAME(fifty_processes_for_three_minutes)
{
	check_storm(LONG_S);
}

VMTEST_MAIN

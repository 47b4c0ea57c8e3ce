// SPDX-License-Identifier: MIT
/* Two drivers, p2p_check and peerpin, pin the same allocation. Each has its own pin and its own revocation. */
#include <signal.h>
#include <stdatomic.h>

#include "test/vm/core/pin.h"
#include "thread.h"

static int peerpin;
static volatile const uint32_t *epochs;

static bool is_live(const struct peerpin_pin *pin)
{
	return epochs[pin->out_slot] == pin->out_epoch;
}

static unsigned int state(const struct peerpin_pin *pin)
{
	struct peerpin_query look;

	return query(peerpin, pin->out_region, &look) ? -1u : look.out_state;
}

/* Pin one page by p2p_check (slot 0) and by peerpin. */
static void pin_by_both(struct peerpin_pin *pin)
{
	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get(0, VA, PAGE) == 0 && map(0, 0) == 0, "p2p_check");
	EXPECT(pin_at(peerpin, VA, PAGE, pin) == 0, "peerpin");
	EXPECT(pins() == 2 && bar1_used() == PAGE, "%u pins, %lu bytes", pins(), bar1_used());
	EXPECT(is_live(pin) && callback(0).out_count == 0, "revoked before the free");
}

SETUP(nodes_are_there)
{
	EXPECT_NODES();
	peerpin = pin_open();
	EXPECT(peerpin >= 0, "no /dev/peerpin: %s", strerror(errno));
	epochs = epochs_map(peerpin);
	EXPECT(epochs, "mmap: %s", strerror(errno));
}

CASE(both_see_the_revocation_by_free)
{
	struct peerpin_pin pin;

	pin_by_both(&pin);
	CHECK_CASE();
	free_one();
	CHECK_CASE();
	EXPECT(callback(0).out_count == 1, "p2p_check: %u", callback(0).out_count);
	EXPECT(!is_live(&pin) && state(&pin) == PEERPIN_STATE_REVOKED, "peerpin: state %u", state(&pin));
	EXPECT(unpin(peerpin, pin.out_region) == 0 && put(0) == 0, "unpin, put");
	EXPECT_NO_BREACH(fd);
}

CASE(both_see_the_revocation_by_close)
{
	struct peerpin_pin pin;
	int own = emu_open();

	rules_watch(fd);
	EXPECT(emu_alloc(own, VA, BLOCK) == 0, "alloc");
	EXPECT(pin_at(peerpin, VA, BLOCK, &pin) == 0 && get(0, VA, 2 * PAGE) == 0, "pin");
	close(own);
	EXPECT(callback(0).out_count == 1 && !is_live(&pin) && nothing_pinned(), "%u", callback(0).out_count);
	EXPECT(unpin(peerpin, pin.out_region) == 0, "unpin");
	EXPECT_NO_BREACH(fd);
}

CASE(unpin_by_one_keeps_the_other)
{
	struct peerpin_pin pin;

	pin_by_both(&pin);
	CHECK_CASE();
	EXPECT(unmap(0, 0) == 0 && put(0) == 0, "put by p2p_check");
	EXPECT(is_live(&pin) && state(&pin) == PEERPIN_STATE_LIVE && pins() == 1, "peerpin: state %u", state(&pin));
	EXPECT(bar1_used() == PAGE, "%lu", bar1_used());
	EXPECT(get(0, VA, PAGE) == 0 && unpin(peerpin, pin.out_region) == 0, "unpin by peerpin");
	EXPECT(callback(0).out_count == 0 && pins() == 1 && version(0) == 0x20000, "%u", callback(0).out_count);
	free_one();
	CHECK_CASE();
	EXPECT(callback(0).out_count == 1, "%u", callback(0).out_count);
	EXPECT_NO_BREACH(fd);
}

CASE(persistent_pin_keeps_no_other_pin)
{
	struct peerpin_pin pin;

	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get_persistent(0, VA, PAGE) == 0 && pin_at(peerpin, VA, PAGE, &pin) == 0, "pin");
	EXPECT(emu_free(fd, VA) == 0 && !is_live(&pin), "peerpin is not revoked");
	EXPECT(pins() == 1 && bar1_used() == PAGE, "%u pins", pins());
	EXPECT(put_persistent(0) == 0 && unpin(peerpin, pin.out_region) == 0 && nothing_pinned(), "put, unpin");
	EXPECT_NO_BREACH(fd);
}

CASE(monitor_names_the_right_module)
{
	struct peerpin_pin pin;

	pin_by_both(&pin);
	CHECK_CASE();
	EXPECT(get(1, VA + 1, PAGE) == -EINVAL, "get");
	EXPECT_BROKE(fd, EMUGPU_RULE_UNALIGNED, 1);
	EXPECT(unpin(peerpin, pin.out_region) == 0, "unpin");
	free_one();
	EXPECT_NO_BREACH(fd);
}

enum { MANY = 2100 };

/* Pin slot 0. Pin by peerpin more often than the emulator has tombstones. */
static void pin_many(unsigned int flags)
{
	struct peerpin_pin pin;
	int i, bad = 0;

	rules_watch(fd);
	one_block();
	CHECK_CASE();
	EXPECT(get_flags(0, VA, PAGE, flags) == 0, "p2p_check");
	for (i = 0; i < MANY; i++)
		bad += pin_at(peerpin, VA, PAGE, &pin) != 0;
	EXPECT(!bad && pins() == MANY + 1, "%d failed, %u pins", bad, pins());
}

/* Pin once more: a write to a dead table is reported when its tombstone is dropped, at the next pin. */
static void expect_no_breach_of_many(void)
{
	EXPECT(nothing_pinned(), "%u pins", pins());
	EXPECT_NO_BREACH(fd);
	one_block();
	EXPECT(get(0, VA, PAGE) == 0, "p2p_check");
	free_one();
	close(peerpin);
	peerpin = pin_open();
	epochs = epochs_map(peerpin);
}

/* All pins end while the put waits for the driver's lock. */
CASE(put_may_wait_for_many_revocations)
{
	pthread_t thread;

	pin_many(0);
	CHECK_CASE();
	EXPECT(thread_free_begin(&thread) == 0, "free");
	EXPECT(put(0) == 0 && callback(0).out_count == 1, "put");
	EXPECT(thread_free_end(thread) == 0, "free");
	expect_no_breach_of_many();
}

CASE(map_may_wait_for_many_revocations)
{
	pthread_t thread;

	pin_many(0);
	CHECK_CASE();
	EXPECT(thread_free_begin(&thread) == 0, "free");
	EXPECT(map(0, 0) == -EINVAL && callback(0).out_count == 1, "map");
	EXPECT(thread_free_end(thread) == 0, "free");
	expect_no_breach_of_many();
}

CASE(put_may_follow_a_planned_revocation)
{
	pin_many(0);
	CHECK_CASE();
	EXPECT(emu_plan(fd, 1, EMUGPU_ACT_REVOKE) == 0 && put(0) == 0, "plan, put");
	EXPECT(callback(0).out_count == 1 && emu_free(fd, VA) == 0, "free");
	expect_no_breach_of_many();
}

/* Revoke slot 0 and many other pins. Then pin once: that drops most tombstones. */
static void revoke_many_and_pin(void)
{
	EXPECT(emu_free(fd, VA) == 0, "free");
	one_block();
	EXPECT(get(1, VA, PAGE) == 0, "get");
	free_one();
}

CASE(mapping_free_outlives_many_revocations)
{
	pin_many(P2P_CHECK_IN_CALLBACK_LEAVE_MAPS);
	CHECK_CASE();
	EXPECT(map(0, 0) == 0, "map");
	revoke_many_and_pin();
	EXPECT(with_flags(P2P_CHECK_FREE_MAP, 0, P2P_CHECK_OLD_MAP) == 0, "free the mapping");
	expect_no_breach_of_many();
}

CASE(table_free_outlives_many_revocations)
{
	pin_many(P2P_CHECK_IN_CALLBACK_LEAVE_TABLE);
	CHECK_CASE();
	revoke_many_and_pin();
	EXPECT(with_flags(P2P_CHECK_FREE_TABLE, 0, 0) == 0, "free the table");
	expect_no_breach_of_many();
}

enum {
	PUTTERS = 4,
	REVOKED = PUTTERS,	/* the next slot after those of the putting threads */
	PUT,
	ROUNDS = 200,
};

static atomic_bool stop;
static atomic_uint revocations;

/* Put a revoked pin again and again: that is no breach. */
static void *put_for_ever(void *slot)
{
	while (!stop)
		put((uintptr_t)slot);
	return NULL;
}

/* Revoke again and again, with delayed callbacks: meanwhile the putting threads wait for the lock. */
static void *revoke_for_ever(void *unused)
{
	(void)unused;
	while (!stop && !get(REVOKED, VA + PAGE, PAGE) && !emu_revoke_range(fd, VA + PAGE, PAGE))
		revocations++;
	return NULL;
}

static void callers_begin(pthread_t *threads)
{
	unsigned int i;

	stop = false;
	revocations = 0;
	for (i = 0; i < PUTTERS; i++)
		EXPECT(get(i, VA, PAGE) == 0, "get");
	EXPECT(emu_revoke(fd, VA) == 0 && emu_delay_callback(fd, 1) == 0, "revoke");
	for (i = 0; i < PUTTERS; i++)
		EXPECT(!pthread_create(&threads[i], NULL, put_for_ever, (void *)(uintptr_t)i), "thread");
	EXPECT(!pthread_create(&threads[i], NULL, revoke_for_ever, NULL), "thread");
	while (revocations < 3)
		usleep(1000);
}

static void callers_end(pthread_t *threads)
{
	unsigned int i;

	stop = true;
	for (i = 0; i <= PUTTERS; i++)
		pthread_join(threads[i], NULL);
	EXPECT(emu_delay_callback(fd, 0) == 0, "delay");
}

static uint64_t writes_to_dead_tables(void)
{
	char module[48];

	return emu_violations(fd, EMUGPU_RULE_WRITE_TO_DEAD_TABLE, module);
}

/* A write to a dead table would be reported when its tombstone is dropped. */
CASE(tombstones_are_dropped_during_calls)
{
	pthread_t threads[PUTTERS + 1];
	uint64_t before;
	int i;

	rules_watch(fd);
	one_block();
	CHECK_CASE();
	before = writes_to_dead_tables();
	EXPECT(get(PUT, VA, PAGE) == 0 && put(PUT) == 0, "get, put");
	EXPECT(with_flags(P2P_CHECK_WRITE_TABLE, PUT, 0) == 0, "write");
	for (i = 0; i < 2000; i++)
		EXPECT(get(PUT, VA, PAGE) == 0 && put(PUT) == 0, "get, put");
	callers_begin(threads);
	CHECK_CASE();
	for (i = 0; i < ROUNDS && writes_to_dead_tables() == before; i++)
		EXPECT(get(PUT, VA, PAGE) == 0 && put(PUT) == 0, "get, put");
	callers_end(threads);
	EXPECT(i < ROUNDS, "no tombstone was dropped during the calls");
	EXPECT_BROKE(fd, EMUGPU_RULE_WRITE_TO_DEAD_TABLE, 1);
	free_one();
}

static int pin_by_both_and_die(void)
{
	struct peerpin_pin pin;

	if (emu_alloc(emu_open(), VA, BLOCK) || pin_at(pin_open(), VA, BLOCK, &pin) || get(0, VA, BLOCK) || map(0, 0))
		return 1;
	return raise(SIGKILL);
}

CASE(kill_ends_both_pins)
{
	rules_watch(fd);
	EXPECT(emu_in_child(pin_by_both_and_die) == -1, "the child was not killed");
	EXPECT(callback(0).out_count == 1 && nothing_pinned(), "%u callbacks, %u pins", callback(0).out_count, pins());
	EXPECT_NO_BREACH(fd);
}

VMTEST_MAIN

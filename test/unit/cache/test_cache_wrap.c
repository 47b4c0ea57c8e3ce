// SPDX-License-Identifier: MIT
/* The registration cache after its counters have wrapped, and in processes with unusual limits. */
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/cache/cache.h"
#include "cache_regions.h"

/*
 * Exit status of a child that calls @run. The child ends by _exit(), so that it does not report the
 * parent's cases.
 */
static int status_of_child(int (*run)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(run());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

/* ---- keys ------------------------------------------------------------------------ */

enum { KEYS = 2048 };	/* more keys than a process has */

static void no_thread_has_it(void *value)
{
	(void)value;
	abort();
}

static unsigned int take_all_keys(pthread_key_t *keys)
{
	unsigned int n = 0;

	while (n < KEYS && !pthread_key_create(&keys[n], no_thread_has_it))
		pthread_setspecific(keys[n++], NULL);
	return n;
}

static int without_a_key(void)
{
	static pthread_key_t keys[KEYS];
	unsigned int i, n = take_all_keys(keys);
	bool worked;

	if (n == KEYS || !n)
		return 1;
	cache = make(0, 0);
	worked = touch(0) && touch(0) && touch(1);
	for (i = 0; i < n; i++)
		if (pthread_getspecific(keys[i]))
			return 2;
	pp_cache_destroy(cache);
	return worked && atomic_load(&pins) == 2 && atomic_load(&unpins) == 2 ? 0 : 3;
}

/* This case comes first, because the library takes its thread key once in a process. */
static void cache_works_without_thread_key(void **state)
{
	(void)state;
	assert_int_equal(status_of_child(without_a_key), 0);
}

/* ---- counts ---------------------------------------------------------------------- */

static struct pp_entry *entry_of(const struct pp_cache_entry *e)
{
	return pp_container_of(e, struct pp_entry, pub);
}

/* Set the counts as if this thread had taken 2^32 - 2 more references and other threads had put them. */
static void let_others_put(const struct pp_cache_entry *e)
{
	uint32_t index = pp_entry_index(&cache->pool, entry_of(e));
	_Atomic uint64_t *word = pp_ref_place(pp_reader_here(&cache->readers), index, 0);

	assert_true(atomic_load(word) == pp_ref_one(index));
	atomic_store(word, (uint64_t)index << 32 | UINT32_MAX);
	atomic_store(&entry_of(e)->shared, 2);
}

static int32_t users_of(const struct pp_cache_entry *e)
{
	pp_readers_count(&cache->readers, &cache->pool);
	return pp_users(&cache->readers, &cache->pool, entry_of(e));
}

static void wrapped_counts_add_up(void **state)
{
	const struct pp_cache_entry *e, *again;

	(void)state;
	cache = make(0, 0);
	assert_int_equal(pp_cache_get(cache, region(0), REGION, &e, NULL), 0);
	let_others_put(e);
	assert_int_equal(users_of(e), 1);
	assert_int_equal(pp_cache_get(cache, region(0), REGION, &again, NULL), 0);
	assert_ptr_equal(again, e);
	assert_int_equal(users_of(e), 2);
	pp_cache_put(cache, again);
	pp_cache_flush(cache);
	assert_int_equal(atomic_load(&unpins), 0);
	pp_cache_put(cache, e);
	pp_cache_flush(cache);
	assert_int_equal(atomic_load(&unpins), 1);
}

/* ---- ages ------------------------------------------------------------------------ */

/* Advance the clock of misses by @spans spans. */
static void let_time_pass(unsigned int spans)
{
	for (; spans; spans--) {
		atomic_store(&cache->clock, (pp_cache_now(cache) / PP_LRU_SPAN + 1) * PP_LRU_SPAN - 1);
		pp_cache_invalidate(cache, region(MANY - 1), REGION);
		assert_true(touch(MANY - 1));
	}
}

/* Add an entry that was last used at @time. */
static struct pp_entry *queue(struct pp_lru *lru, struct pp_pool *pool, uint32_t time)
{
	struct pp_entry *e = pp_pool_take(pool);

	assert_non_null(e);
	atomic_store(&e->stamp, time);
	pp_lru_add(lru, pool, e);
	pp_entry_set_state(e, PP_LIVE);
	return e;
}

static void long_unused_region_is_oldest(void **state)
{
	unsigned int spans;

	(void)state;
	for (spans = 1; spans <= 9; spans++) {
		cache = make(3, 0);
		touch_all(0, 1);
		let_time_pass(spans);
		touch_all(1, 1);
		touch_all(2, 1);
		assert_int_equal(atomic_load(&pinned[0]), 0);
		assert_int_equal(atomic_load(&pinned[1]), 1);
		teardown(NULL);
	}
}

static void long_held_region_unpins_at_destroy(void **state)
{
	const struct pp_cache_entry *e;

	(void)state;
	cache = make(0, 0);
	assert_int_equal(pp_cache_get(cache, region(0), REGION, &e, NULL), 0);
	let_time_pass(5);
	pp_cache_put(cache, e);
}

/*
 * The first take, as by a miss of another thread, evicts a newer entry. An invalidation then
 * removes many newer entries.
 */
static void newer_entries_do_not_hide_oldest(void **state)
{
	enum { NEW = 200, OLD_TIME = 50, NEW_TIME = 100, NOW = 1000 };
	struct pp_entry *old, *newer[NEW];
	struct pp_readers readers;
	struct pp_pool pool;
	struct pp_lru lru;
	int i;

	(void)state;
	assert_int_equal(pp_pool_init(&pool), 0);
	pp_readers_init(&readers);
	pp_lru_init(&lru);
	for (i = 0; i < NEW; i++)
		newer[i] = queue(&lru, &pool, NEW_TIME + i);
	old = queue(&lru, &pool, OLD_TIME);
	assert_ptr_equal(pp_lru_take(&lru, &pool, &readers, NOW, NOW), newer[0]);
	for (i = NEW - 20; i < NEW; i++)
		pp_lru_remove(&lru, &pool, newer[i]);
	assert_ptr_equal(pp_lru_take(&lru, &pool, &readers, NOW, OLD_TIME), old);
	assert_null(pp_lru_take(&lru, &pool, &readers, NOW, OLD_TIME));
	assert_non_null(pp_lru_take(&lru, &pool, &readers, NOW, NOW));
	pp_readers_end(&readers);
	pp_pool_end(&pool);
}

/* ---- the fence ------------------------------------------------------------------- */

static int filter(struct sock_filter *code, unsigned short count)
{
	struct sock_fprog program = { count, code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static int deny_membarrier(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return filter(code, sizeof(code) / sizeof(*code));
}

static int locked_up(void)
{
	cache = make(1, 0);
	if (!touch(0) || deny_membarrier() || !touch(1) || !touch(2))
		return 1;
	return atomic_load(&unpins) ? 2 : 0;
}

/* Without membarrier() the cache cannot know the entries in use. It unpins none, and pp_cache_get() works. */
static void denied_membarrier_unpins_nothing(void **state)
{
	(void)state;
	assert_int_equal(status_of_child(locked_up), 0);
}

/* The seccomp filter applies to this thread only. */
static void *misses_locked_up(void *unused)
{
	(void)unused;
	return deny_membarrier() || !touch(1) || atomic_load(&unpins) ? cache : NULL;
}

static int one_thread_locked_up(void)
{
	pthread_t thread;
	void *failed;

	cache = make(1, 0);
	if (!touch(0) || pthread_create(&thread, NULL, misses_locked_up, NULL) || pthread_join(thread, &failed) || failed)
		return 1;
	if (!touch(2) || atomic_load(&unpins) != 2)
		return 2;
	pp_cache_destroy(cache);
	return atomic_load(&unpins) == 3 ? 0 : 3;
}

static void denied_thread_costs_others_nothing(void **state)
{
	(void)state;
	assert_int_equal(status_of_child(one_thread_locked_up), 0);
}

/* ---- addresses ------------------------------------------------------------------- */

enum { ADDRESSES = 8 << 20 };	/* typical limit of locked memory */

/* Deny mmap() by the low words of its arguments: the CPU must be little-endian. */
static int deny_addresses(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_NONE, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, ADDRESSES, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	return filter(code, sizeof(code) / sizeof(*code));
}

static int with_few_addresses(void)
{
	bool worked;

	if (deny_addresses())
		return 1;
	cache = make(0, 0);
	worked = cache->pool.most < PP_MAX_ENTRIES && touch(0) && touch(1);
	pp_cache_destroy(cache);
	return worked && atomic_load(&unpins) == 2 ? 0 : 2;
}

/* Under mlockall(), mapped addresses count against the limit, even before any access. */
static void cache_works_with_few_addresses(void **state)
{
	(void)state;
	assert_int_equal(status_of_child(with_few_addresses), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(cache_works_without_thread_key),
		TEST(wrapped_counts_add_up),
		TEST(long_unused_region_is_oldest),
		TEST(long_held_region_unpins_at_destroy),
		TEST(newer_entries_do_not_hide_oldest),
		TEST(denied_membarrier_unpins_nothing),
		TEST(denied_thread_costs_others_nothing),
		TEST(cache_works_with_few_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

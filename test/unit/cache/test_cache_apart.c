// SPDX-License-Identifier: MIT
/* A cache must not touch registrations of other processes and of other caches. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/cache/reader.h"
#include "cache_regions.h"

static int use_as_a_child(const struct pp_cache_entry *e)
{
	const struct pp_cache_entry *mine;
	int before = atomic_load(&unpins);

	pp_cache_put(cache, e);
	if (pp_cache_get(cache, region(0), REGION, &mine, NULL) != -EACCES)
		return 1;
	pp_cache_invalidate(cache, region(0), 16 * REGION);
	pp_cache_flush(cache);
	pp_cache_destroy(cache);
	return atomic_load(&unpins) == before ? 0 : 2;
}

/* exit(), not _exit(): the child must run its exit handlers, too. */
static void forked_child_unpins_no_parent_region(void **state)
{
	const struct pp_cache_entry *e;
	int status;
	pid_t pid;

	(void)state;
	cache = make(0, 0);
	touch_all(1, 8);
	assert_int_equal(pp_cache_get(cache, region(0), REGION, &e, NULL), 0);
	fflush(NULL);
	pid = fork();
	if (!pid)
		exit(use_as_a_child(e));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(atomic_load(&unpins), 0);
	pp_cache_flush(cache);
	assert_int_equal(stats().entries, 1);	/* the put in the child dropped no reference of the parent */
	pp_cache_put(cache, e);
}

/* In the child: a new cache takes over no entry of the parent's cache. */
static int make_one_as_a_child(void)
{
	cache = make(0, 0);
	atomic_store(&pinned[0], 0);
	if (!touch(0) || stats().misses != 1)
		return 1;
	pp_cache_destroy(cache);
	return atomic_load(&pins) == 2 && atomic_load(&unpins) == 1 ? 0 : 2;
}

static void child_may_create_its_own_cache(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	cache = make(0, 0);
	assert_true(touch(0));
	fflush(NULL);
	pid = fork();
	if (!pid)
		_exit(make_one_as_a_child());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(touch(0));
	assert_int_equal(stats().hits, 1);
}

static void second_cache_leaves_first_cache_alone(void **state)
{
	const struct pp_cache_entry *e, *other;
	struct pp_cache *second;

	(void)state;
	cache = make(0, 0);
	second = make(1, 0);
	touch_all(0, 8);
	assert_int_equal(pp_cache_get(cache, region(0), REGION, &e, NULL), 0);
	assert_int_equal(pp_cache_get(second, region(20), REGION, &other, NULL), 0);
	pp_cache_put(second, other);
	pp_cache_invalidate(second, region(0), 16 * REGION);
	pp_cache_flush(second);
	assert_int_equal(atomic_load(&unpins), 1);
	pp_cache_destroy(second);
	assert_int_equal(stats().entries, 8);
	pp_cache_put(cache, e);
	touch_all(0, 8);
	assert_int_equal(stats().misses, 8);
}

/* The new cache has the address of the old cache. It must not find this thread's words of the old cache. */
static void new_cache_is_empty(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 1000; i++) {
		cache = make(0, 0);
		touch_all(0, 3);
		assert_int_equal(stats().misses, 3);
		pp_cache_destroy(cache);
	}
	cache = NULL;
	assert_int_equal(atomic_load(&pins), 3000);
}

enum { COUNT = PP_SEATS + 36 };

/*
 * A process with many caches has no thread words for the last ones. Those caches count references
 * in their entries, with the same results.
 */
static void caches_beyond_thread_words_work(void **state)
{
	static struct pp_cache *caches[COUNT];
	const struct pp_cache_entry *e[2];
	unsigned int i;

	(void)state;
	for (i = 0; i < COUNT; i++) {
		cache = caches[i] = make(0, 0);
		assert_int_equal(pp_cache_get(cache, region(0), REGION, &e[0], NULL), 0);
		assert_int_equal(pp_cache_get(cache, region(0), REGION, &e[1], NULL), 0);
		assert_ptr_equal(e[0], e[1]);
		assert_int_equal(stats().hits, 1);
		pp_cache_put(cache, e[0]);
		pp_cache_invalidate(cache, region(0), REGION);
		assert_int_equal(atomic_load(&unpins), i);	/* the region is in use */
		pp_cache_put(cache, e[1]);
		assert_int_equal(atomic_load(&unpins), i + 1);
	}
	for (i = 0; i < COUNT; i++)
		pp_cache_destroy(caches[i]);
	cache = NULL;
	assert_int_equal(atomic_load(&pins), COUNT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(forked_child_unpins_no_parent_region),
		TEST(child_may_create_its_own_cache),
		TEST(second_cache_leaves_first_cache_alone),
		TEST(new_cache_is_empty),
		TEST(caches_beyond_thread_words_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
/* What is another process's, or another cache's, is left alone. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
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

/* exit(), so that what runs at the end of a process runs in the child too. */
static void a_fork_unpins_nothing_of_the_parents(void **state)
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
	assert_int_equal(stats().entries, 1);	/* the child's put was not ours */
	pp_cache_put(cache, e);
}

/* The child's own cache is its own. */
static int make_one_as_a_child(void)
{
	cache = make(0, 0);
	atomic_store(&pinned[0], 0);
	if (!touch(0) || stats().misses != 1)
		return 1;
	pp_cache_destroy(cache);
	return atomic_load(&pins) == 2 && atomic_load(&unpins) == 1 ? 0 : 2;
}

static void a_child_may_have_a_cache_of_its_own(void **state)
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

static void a_second_cache_unpins_nothing_of_the_firsts(void **state)
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

/* One's end, and the next one's beginning in its place, with this thread's words. */
static void a_cache_made_anew_is_empty(void **state)
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

/* Those that come late count in their entries; what they answer is the same. */
static void more_caches_than_threads_have_words_for(void **state)
{
	static struct pp_cache *caches[100];
	const struct pp_cache_entry *e[2];
	unsigned int i;

	(void)state;
	for (i = 0; i < 100; i++) {
		cache = caches[i] = make(0, 0);
		assert_int_equal(pp_cache_get(cache, region(0), REGION, &e[0], NULL), 0);
		assert_int_equal(pp_cache_get(cache, region(0), REGION, &e[1], NULL), 0);
		assert_ptr_equal(e[0], e[1]);
		assert_int_equal(stats().hits, 1);
		pp_cache_put(cache, e[0]);
		pp_cache_invalidate(cache, region(0), REGION);
		assert_int_equal(atomic_load(&unpins), i);	/* it is in use */
		pp_cache_put(cache, e[1]);
		assert_int_equal(atomic_load(&unpins), i + 1);
	}
	for (i = 0; i < 100; i++)
		pp_cache_destroy(caches[i]);
	cache = NULL;
	assert_int_equal(atomic_load(&pins), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_fork_unpins_nothing_of_the_parents),
		TEST(a_child_may_have_a_cache_of_its_own),
		TEST(a_second_cache_unpins_nothing_of_the_firsts),
		TEST(a_cache_made_anew_is_empty),
		TEST(more_caches_than_threads_have_words_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: MIT
/* fork() while many threads use the cache, and while a thread holds any lock of the library. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cache_regions.h"

enum {
	THREADS = 64,
	MAKERS = 8,	/* of them, threads that make and destroy caches */
	REGIONS = 200,
	BUDGET = 100,	/* entries: half of the gets miss */
	FORKS = 20,
	PATIENCE_S = 60,
};

static atomic_bool stopped;
static atomic_int wrong;

static void *use(void *arg)
{
	unsigned int n = (uintptr_t)arg;

	for (; !atomic_load(&stopped); n += 7)
		if (!touch(n % REGIONS))
			atomic_fetch_add(&wrong, 1);
	return NULL;
}

/* A cache of regions that no other cache has; 0, or the line that failed */
static int use_own(unsigned int first)
{
	const struct pp_cache_attr attr = { 0 };
	const struct pp_cache_entry *e;
	struct pp_cache *own;
	unsigned int i;

	if (pp_cache_create(&ops, NULL, &attr, &own))
		return __LINE__;
	for (i = 0; i < 4; i++) {
		if (pp_cache_get(own, region(first + i / 2), REGION, &e, NULL))
			return __LINE__;
		pp_cache_put(own, e);
	}
	pp_cache_destroy(own);
	return 0;
}

static void *make_and_destroy(void *arg)
{
	while (!atomic_load(&stopped))
		if (use_own(REGIONS + 2 * (uintptr_t)arg))
			atomic_fetch_add(&wrong, 1);
	return NULL;
}

/* The child has one thread. The other threads may have held any lock. 0, or the line that failed */
static int in_child(const struct pp_cache_entry *held)
{
	const struct pp_cache_entry *e;
	int before = atomic_load(&unpins);

	alarm(PATIENCE_S);
	if (pp_cache_get(cache, region(0), REGION, &e, NULL) != -EACCES)
		return __LINE__;
	pp_cache_put(cache, held);
	pp_cache_invalidate(cache, region(0), REGION);
	pp_cache_flush(cache);
	pp_cache_destroy(cache);
	if (atomic_load(&unpins) != before)
		return __LINE__;
	return use_own(REGIONS + 2 * THREADS);
}

static void child_of_busy_threads_works(void **state)
{
	const struct pp_cache_entry *held;
	pthread_t threads[THREADS];
	unsigned int i;
	int status;
	pid_t pid;

	(void)state;
	cache = make(BUDGET, 0);
	assert_int_equal(pp_cache_get(cache, region(0), REGION, &held, NULL), 0);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, i < MAKERS ? make_and_destroy : use, (void *)(uintptr_t)i), 0);
	for (i = 0; i < FORKS; i++) {
		pid = fork();
		if (!pid)
			_exit(in_child(held));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	atomic_store(&stopped, true);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pp_cache_put(cache, held);
	assert_int_equal(atomic_load(&wrong), 0);
}

/* ---- a thread that stops with a lock held ---------------------------------------------- */

static __thread int locks_left = -1;	/* this thread stops when it has taken so many locks more */
static sem_t holds, may_go;

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	int ret = __real_pthread_mutex_lock(mutex);

	if (locks_left >= 0 && !locks_left--) {
		sem_post(&holds);
		sem_wait(&may_go);
	}
	return ret;
}

/* Returns NULL if the thread has taken no more locks than it was to take. */
static void *use_and_stop(void *arg)
{
	int nth = (uintptr_t)arg, ret;

	locks_left = nth;
	ret = use_own(REGIONS);
	if (ret)
		atomic_fetch_add(&wrong, 1);
	if (locks_left < 0)
		return &wrong;
	locks_left = -1;
	sem_post(&holds);
	return NULL;
}

/* True if the thread has stopped at its lock number @nth. */
static bool fork_beside_lock(const struct pp_cache_entry *held, int nth)
{
	pthread_t thread;
	void *stopped_there;
	int status;
	pid_t pid;

	assert_int_equal(pthread_create(&thread, NULL, use_and_stop, (void *)(uintptr_t)nth), 0);
	sem_wait(&holds);
	pid = fork();
	if (!pid)
		_exit(in_child(held));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	sem_post(&may_go);
	pthread_join(thread, &stopped_there);
	assert_int_equal(status, 0);
	if (!stopped_there)
		sem_wait(&may_go);
	return stopped_there;
}

static void child_needs_no_lock_of_parent(void **state)
{
	const struct pp_cache_entry *held;
	int nth = 0;

	(void)state;
	sem_init(&holds, 0, 0);
	sem_init(&may_go, 0, 0);
	cache = make(0, 0);
	assert_int_equal(pp_cache_get(cache, region(0), REGION, &held, NULL), 0);
	while (fork_beside_lock(held, nth))
		nth++;
	pp_cache_put(cache, held);
	assert_true(nth > 5);
	assert_int_equal(atomic_load(&wrong), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(child_needs_no_lock_of_parent),
		TEST(child_of_busy_threads_works),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

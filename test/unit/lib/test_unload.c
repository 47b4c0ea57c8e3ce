// SPDX-License-Identifier: MIT
/* A plugin unloads the library. Threads that called the library end later, and must not run unmapped code. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include "libpeerpin.h"
#include "test/unit/unit.h"

static void *lib;
static pthread_barrier_t used, unloaded;

static int pin(void *arg, uint64_t addr, uint64_t length, void **reg, struct pp_why *why)
{
	(void)addr;
	(void)length;
	(void)why;
	*reg = arg;
	return 0;
}

static void unpin(void *arg, void *reg)
{
	(void)arg;
	(void)reg;
}

static int use(void)
{
	const struct pp_cache_ops ops = { .pin = pin, .unpin = unpin };
	typeof(pp_cache_create) *create = (typeof(pp_cache_create) *)dlsym(lib, "pp_cache_create");
	typeof(pp_cache_get) *get = (typeof(pp_cache_get) *)dlsym(lib, "pp_cache_get");
	typeof(pp_cache_put) *put = (typeof(pp_cache_put) *)dlsym(lib, "pp_cache_put");
	typeof(pp_cache_destroy) *destroy = (typeof(pp_cache_destroy) *)dlsym(lib, "pp_cache_destroy");
	const struct pp_cache_entry *e;
	struct pp_cache *cache;
	int ret = create && get && put && destroy ? create(&ops, NULL, NULL, &cache) : -ENOSYS;

	if (ret)
		return ret;
	ret = get(cache, &used, 1, &e, NULL);
	if (!ret)
		put(cache, e);
	destroy(cache);
	return ret;
}

static void *use_and_end_later(void *ret)
{
	*(int *)ret = use();
	pthread_barrier_wait(&used);
	pthread_barrier_wait(&unloaded);
	return NULL;
}

static void threads_outlive_unloaded_library(void **state)
{
	pthread_t thread;
	int ret = -1;

	(void)state;
	lib = dlopen(BUILD "/lib/libpeerpin.so.1", RTLD_NOW | RTLD_LOCAL);
	assert_non_null(lib);
	pthread_barrier_init(&used, NULL, 2);
	pthread_barrier_init(&unloaded, NULL, 2);
	assert_int_equal(pthread_create(&thread, NULL, use_and_end_later, &ret), 0);
	pthread_barrier_wait(&used);
	assert_int_equal(ret, 0);
	assert_int_equal(dlclose(lib), 0);
	pthread_barrier_wait(&unloaded);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_outlive_unloaded_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * A constructor of a library calls a function that looks for a library itself. Link the test with -rdynamic:
 * fake_plugin.c calls plugin_is_loading().
 */
#ifndef LOADING_H
#define LOADING_H

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>
#include "test/unit/unit.h"

static void (*loading_call)(void);	/* the tested function */
static void (*loading_constructor)(void);
static sem_t loading, loading_called;
static int loading_waited;		/* result of the constructor's wait */

void plugin_is_loading(void);

/* This thread holds the dynamic loader's lock. */
void plugin_is_loading(void)
{
	sem_post(&loading);
	loading_constructor();
}

/* Calls after the other thread has begun to wait for the loader's lock. */
static void call_as_well(void)
{
	const struct timespec settle = { .tv_nsec = 100000000 };

	nanosleep(&settle, NULL);
	loading_call();
}

static void await_other_call(void)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 5;
	loading_waited = sem_timedwait(&loading_called, &end);
}

static void *call_meanwhile(void *arg)
{
	sem_wait(&loading);
	loading_call();
	sem_post(&loading_called);
	return arg;
}

static void load_with(void (*constructor)(void), void (*call)(void))
{
	pthread_t other;
	void *plugin;

	loading_constructor = constructor;
	loading_call = call;
	sem_init(&loading, 0, 0);
	sem_init(&loading_called, 0, 0);
	pthread_create(&other, NULL, call_meanwhile, NULL);
	alarm(10);
	plugin = dlopen(BUILD "/bin/test/fake/plugin.so", RTLD_NOW | RTLD_LOCAL);
	assert_non_null(plugin);
	pthread_join(other, NULL);
	alarm(0);
	dlclose(plugin);
	sem_destroy(&loading);
	sem_destroy(&loading_called);
}

/* Two threads call @call: a constructor in dlopen(), and another. If they wait for each other, the alarm ends the test. */
static inline void load_plugin(void (*call)(void))
{
	load_with(call_as_well, call);
}

/* Another thread calls @call, while a constructor waits for the end of that call. Fails if the call waits for the loader. */
static inline void load_plugin_meanwhile(void (*call)(void))
{
	load_with(await_other_call, call);
	assert_int_equal(loading_waited, 0);
}

#endif
